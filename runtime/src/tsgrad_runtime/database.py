"""The database that a ledger is in: how it is reached, what is set up there, and how it says that it can't.

SQLite as it comes (in WAL mode), PostgreSQL by its URL.
"""

import sqlite3
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from tsgrad_runtime.checks import BadInput

_PATIENCE = 30  # seconds to wait for the lock of another process
# What a database raises, damaged ones while they are opened included.
FAILURES = (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError)


class LedgerDown(Exception):
    """The ledger can't be reached or written to; nothing was acknowledged."""


class reached:  # noqa: N801
    """Whatever a database can't do is one exception, in one line."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, FAILURES):
            raise LedgerDown(told(error)) from error


def told(error: BaseException) -> str:
    """What a database said, in one line, without the statement and its data."""
    return " ".join(str(error.orig if isinstance(error, DBAPIError) else error).split())[:200]


def checked_url(url: Any) -> sql.URL:
    """The URL of a database that a ledger can be in."""
    try:
        checked = sql.make_url(url)
    except (SQLAlchemyError, ValueError, TypeError, AttributeError):
        raise BadInput(f"ledger must be a URL, such as sqlite:///experiment.db, got {url!r:.80}") from None
    if checked.get_backend_name() == "postgresql":
        return checked.set(drivername="postgresql+psycopg")
    if checked.get_backend_name() != "sqlite":
        raise BadInput(f"ledger must be in SQLite or PostgreSQL, got {checked.get_backend_name()!r:.40}")
    if checked.database in (None, "", ":memory:"):
        raise BadInput("ledger must be a file, such as sqlite:///experiment.db: what is in memory is lost")
    return checked


def engine_of(url: sql.URL, *, reading: bool) -> sql.Engine:
    """What connects to a database; where it is only read, nothing is written, whatever the database is."""
    if url.get_backend_name() == "sqlite":
        engine = sql.create_engine(url, connect_args={"check_same_thread": False, "timeout": _PATIENCE})
        set_up = _set_up_sqlite
    else:
        patient = {
            "connect_timeout": 5,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "tcp_user_timeout": 1000 * _PATIENCE,
        }
        engine = sql.create_engine(url, pool_pre_ping=True, connect_args=patient)
        set_up = _set_up_postgresql
    sql.event.listen(engine, "connect", _only_read if reading else set_up)
    if url.get_backend_name() == "sqlite" and not reading:
        sql.event.listen(engine, "begin", _begin_immediate)
    return engine


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say
    for pragma in ("journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")


def _set_up_postgresql(connection: Any, _: Any) -> None:
    """A process that hangs in a transaction, or a machine that is gone, must not hold the lock that all others need."""
    for setting in ("lock_timeout", "idle_in_transaction_session_timeout"):
        connection.execute(f"SET {setting} = '{_PATIENCE}s'")
    connection.commit()


def _only_read(connection: Any, _: Any) -> None:
    """Whatever the database is, nothing is written to it: neither tables nor another mode."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA query_only = ON")
    else:
        connection.execute("SET default_transaction_read_only = on")
        connection.commit()


def _begin_immediate(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
