"""The ledger: every event of an experiment, appended in a transaction before it is acknowledged.

SQLite as it comes (in WAL mode), PostgreSQL by its URL. Events are numbered by a counter whose row stays locked until
the transaction ends, so that they become visible in the order of their numbers: whoever has read up to a number has
missed nothing below it. What is believed is a function of the events in that order.
"""

import functools
import itertools
import json
import math
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import sqlalchemy as sql
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from tsgrad_runtime.checks import BadInput
from tsgrad_runtime.events import KINDS, Event

FORMAT = 1
# "impossible" is an arm that could be added or withdrawn when that was asked for, but not when its turn came.
Outcome = Literal["accepted", "repeated", "unknown", "not shown", "contradiction", "late", "impossible"]

Check = Callable[[dict[str, Any], dict[str, dict[str, Any]]], None]

_TABLES = sql.MetaData()
_EXPERIMENT = sql.Table(
    "tsgrad_experiment",
    _TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("format", sql.Integer, nullable=False),
    sql.Column("created", sql.Float, nullable=False),
    sql.Column("seed", sql.String(20), nullable=False),
    sql.Column("settings", sql.Text, nullable=False),
    sql.Column("processes", sql.Integer, nullable=False),
    sql.Column("last", sql.BigInteger, nullable=False),  # the number of the last event
)
_POLICIES = sql.Table(
    "tsgrad_policies",
    _TABLES,
    sql.Column("name", sql.String(64), primary_key=True),
    sql.Column("content", sql.Text, nullable=False),
)
_EVENTS = sql.Table(
    "tsgrad_events",
    _TABLES,
    sql.Column("number", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("kind", sql.String(12), nullable=False),
    sql.Column("at", sql.Float, nullable=False),
    sql.Column("decision", sql.String(80)),
    sql.Column("arm", sql.Text),
    sql.Column("propensity", sql.Float),
    sql.Column("features", sql.Text),
    sql.Column("available", sql.Text),
    sql.Column("shown", sql.Boolean, nullable=False),
    sql.Column("reward", sql.Float),
    sql.Column("parameters", sql.Text),
    sql.Column("policy", sql.String(64)),
    # What can happen to a decision once: to be made, to be activated, to be settled.
    sql.Column("once", sql.String(82), unique=True),
)
_COLUMNS = tuple(column.name for column in _EVENTS.columns)
_ASKED = sql.select(*(_EVENTS.c[name] for name in ("once", "kind", "arm", "features", "shown", "reward")))
_PATIENCE = 30  # seconds to wait for the lock of another process
MOST_OVERDUE = 500  # decisions that are looked at in one query
_MOST_AHEAD = 100_000  # events from a clock that was ahead that are passed over in one query
_MOST_OPEN = 2**14
_AT_ONCE = 64  # things that are asked for in one query: always as many, so that a database knows the query
# Rows of one insert. With a row each, the driver lets another thread run after every one, and waits for its turn again.
_ROWS = (64, 16, 4, 1)
_ONCE = {"decision": "d", "activation": "a", "reward": "s", "default": "s"}
# What a database raises, damaged ones while they are opened included.
_FAILURES = (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError)
_JSON = ("arm", "features", "available", "parameters")


class LedgerDown(Exception):
    """The ledger can't be reached or written to; nothing was acknowledged."""


class Numbered(NamedTuple):
    """An event with its number in the ledger."""

    number: int
    event: Event


class Appended(NamedTuple):
    """What became of events that were to be appended: an outcome each, and those that were."""

    outcomes: list[Outcome]
    events: list[Numbered]
    others: Sequence[Numbered] = ()  # what came before them, where somebody else has appended too


class Ledger:
    """A ledger at a URL: `sqlite:///experiment.db`, `postgresql+psycopg://user@host/name`.

    The settings of an experiment, which its belief depends on, are those of whoever opened the ledger first.

    Args:
        url: of the database; tables are made where there are none.
        reading: true for one that must be there already and is left as it is, whatever it turns out to be.

    Raises:
        BadInput: if the URL is of no database that a ledger can be in.
        LedgerDown: if the database can't be reached.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"sqlite:///{folder}/experiment.db")
    ...     ledger.events()
    ...     ledger.close()
    []

    """

    def __init__(self, url: str, *, reading: bool = False) -> None:
        self.url = _checked_url(url)
        if reading and self.url.get_backend_name() == "sqlite" and not Path(self.url.database or "").exists():
            raise BadInput(f"ledger {self.name:.120} is not there")
        options: dict[str, Any] = {"pool_pre_ping": True}
        if self.url.get_backend_name() == "sqlite":
            options = {"connect_args": {"check_same_thread": False, "timeout": _PATIENCE}}
        else:
            options["connect_args"] = {
                "connect_timeout": 5,
                "keepalives_idle": 10,
                "keepalives_interval": 5,
                "tcp_user_timeout": 1000 * _PATIENCE,
            }
        self.engine = sql.create_engine(self.url, **options)
        self._statements = _Statements(self.engine.dialect)
        self._ahead = 0  # up to which number times were in the future when they were last looked at
        self._open: dict[str, Event] = {}  # the last decisions made here that were shown and wait
        if reading:
            sql.event.listen(self.engine, "connect", _only_read)
            try:
                self.described()
            except Exception:  # nobody gets the ledger, to close it
                self.close()
                raise
            return
        if self.url.get_backend_name() == "sqlite":
            sql.event.listen(self.engine, "connect", _set_up_sqlite)
            sql.event.listen(self.engine, "begin", _begin_immediate)
        else:
            sql.event.listen(self.engine, "connect", _set_up_postgresql)
        try:
            _TABLES.create_all(self.engine)
        except _FAILURES:  # another process may have made them at the same moment
            with _reached():
                _TABLES.create_all(self.engine)

    def close(self) -> None:
        """Lets go of all connections."""
        self.engine.dispose()

    def enter(self, settings: dict[str, Any], name: str, content: dict[str, Any], check: Check) -> tuple[int, int]:
        """Takes part in the experiment with a policy, or starts it: (seed, number of this process).

        `check` gets the experiment's settings and the policies kept so far, before anything is written; what it raises
        leaves the ledger as it was. All of it is under the lock that every other process needs: of two that start at
        the same moment, one sees the policy of the other.
        """
        try:
            return self._enter(settings, name, content, check)
        except IntegrityError:  # another process has started it at the same moment
            with _reached():
                return self._enter(settings, name, content, check)
        except _FAILURES as error:
            raise LedgerDown(_told(error)) from error

    def described(self) -> tuple[int, dict[str, Any]]:
        """(seed, settings) of the experiment."""
        with _reached(), self.engine.connect() as connection:
            there = sql.inspect(connection).has_table(_EXPERIMENT.name)
            row = connection.execute(sql.select(_EXPERIMENT)).first() if there else None
        if row is None:
            raise BadInput(f"ledger {self.name} holds no experiment: give the URL that the service was given")
        self._check_format(row.format)
        return _told_of(row)

    def last(self) -> int:
        """The number of the last event, by the counter that all appending goes by."""
        with _reached(), self.engine.connect() as connection:
            last = connection.execute(sql.select(_EXPERIMENT.c.last)).scalar_one()
        if not isinstance(last, int):
            raise LedgerDown("the experiment is damaged: restore the ledger from a copy")
        return last

    def _check_format(self, told: Any) -> None:
        if told != FORMAT:
            raise BadInput(f"ledger {self.name} has format {told!r:.20}, this version reads {FORMAT}")

    def _enter(self, settings: dict[str, Any], name: str, content: dict[str, Any], check: Check) -> tuple[int, int]:
        with self.engine.begin() as connection:
            row = connection.execute(sql.select(_EXPERIMENT).with_for_update()).first()
            if row is None:
                connection.execute(
                    _EXPERIMENT.insert().values(
                        id=1,
                        format=FORMAT,
                        created=time.time(),
                        seed=str(secrets.randbits(64)),
                        settings=json.dumps(settings),
                        processes=0,
                        last=0,
                    )
                )
                row = connection.execute(sql.select(_EXPERIMENT)).one()
            self._check_format(row.format)
            seed, known = _told_of(row)
            kept = _kept(connection)
            check(known, kept)
            if name not in kept:
                connection.execute(_POLICIES.insert().values(name=name, content=json.dumps(content)))
            connection.execute(_EXPERIMENT.update().values(processes=row.processes + 1))
            return seed, int(row.processes)

    def policies(self) -> dict[str, dict[str, Any]]:
        """The content of every policy that took part, by name: the ledger alone tells what decided."""
        with _reached(), self.engine.connect() as connection:
            return _kept(connection)

    @property
    def name(self) -> str:
        """The URL, without its password."""
        return self.url.render_as_string(hide_password=True)

    def append(self, events: Sequence[Event]) -> Appended:
        """Appends events in one transaction, but for those that are repeated or not possible."""
        with _reached():
            try:
                appended = self._append(events, self._open)
            except IntegrityError:  # another process has settled what nobody had settled when it was last seen here
                appended = self._append(events, {})
        for _, event in appended.events:
            if event.kind == "decision" and event.shown:
                self._open[f"d:{event.decision}"] = event
            elif event.kind in ("reward", "default"):
                self._open.pop(f"d:{event.decision}", None)
        while len(self._open) > _MOST_OPEN:
            del self._open[next(iter(self._open))]
        return appended

    def _append(self, events: Sequence[Event], open_: dict[str, Event]) -> Appended:
        """The same, with decisions that are believed to be without a reward: the column `once` refuses a second."""
        with self.engine.begin() as connection:
            last = connection.exec_driver_sql(self._statements.last).scalar_one()
            # Ids of decisions are new by the way they are made; were one not, its unique column would refuse it.
            asked = {event.decision for event in events if event.decision is not None and event.kind != "decision"}
            known = {once: open_[once] for once in (f"d:{decision}" for decision in asked) if once in open_}
            known |= self._known(connection, {decision for decision in asked if f"d:{decision}" not in known})
            outcomes: list[Outcome] = []
            accepted: list[Numbered] = []
            for event in events:
                outcome, complete = _judged(event, known)
                outcomes.append(outcome)
                if outcome == "accepted":
                    accepted.append(Numbered(last + len(accepted) + 1, complete))
                    if complete.decision is not None:
                        known[_once(complete)] = complete
            if accepted:
                for part in _parts(accepted):
                    values = [value for numbered in part for value in _row(numbered)]
                    connection.exec_driver_sql(self._statements.insertions[len(part)], tuple(values))
                connection.exec_driver_sql(self._statements.advance, (accepted[-1].number,))
        return Appended(outcomes, accepted)

    def _known(self, connection: Any, decisions: set[str]) -> dict[str, Event]:
        """What has happened to decisions so far, by what can happen once."""
        found = self._found(connection, [f"{letter}:{decision}" for decision in decisions for letter in "ds"])
        hidden = [once for once, event in found.items() if once[0] == "d" and not event.shown]
        return found | self._found(connection, [f"a{once[1:]}" for once in hidden])

    def _found(self, connection: Any, asked: list[str]) -> dict[str, Event]:
        found: dict[str, Event] = {}
        for start in range(0, len(asked), _AT_ONCE):
            part = asked[start : start + _AT_ONCE]
            rows = connection.exec_driver_sql(self._statements.asked, (*part, *part[:1] * (_AT_ONCE - len(part))))
            for once, kind, arm, features, shown, reward in rows.all():
                seen = _loaded(features, "an event") if features is not None else None
                found[once] = Event(kind, 0.0, None, _played(arm), None, seen, None, bool(shown), reward)
        return found

    def probe(self) -> None:
        """Writes what is there already, to find out whether the ledger can be written to."""
        with _reached(), self.engine.begin() as connection:
            connection.execute(_EXPERIMENT.update().values(last=_EXPERIMENT.c.last))

    def events(self, after: int = 0, limit: int = 10_000) -> list[Numbered]:
        """The events that follow a number, in order."""
        query = sql.select(_EVENTS).where(_EVENTS.c.number > after).order_by(_EVENTS.c.number).limit(limit)
        with _reached(), self.engine.connect() as connection:
            return [_numbered(row) for row in connection.execute(query)]

    def all_events(self, after: int = 0) -> Iterable[Numbered]:
        """All events that follow a number, in order."""
        while found := self.events(after):
            yield from found
            after = found[-1].number

    def overdue(self, now: float, wait: float, after: int, limit: int = MOST_OVERDUE) -> list[tuple[int, str, bool]]:
        """(number, decision, whether it has a reward) of what was shown so long ago, beyond a number, in order.

        They are looked through by their number, `limit` at most, up to the first that was shown later: times have no
        index, and all rows younger than the wait would be searched. What was shown in the future, by a clock that is
        ahead, is as old as what follows it: else nothing that follows would ever be overdue.
        """
        settled = _EVENTS.alias()
        query = (
            sql.select(_EVENTS.c.number, _EVENTS.c.decision, settled.c.number.is_not(None), _EVENTS.c.at)
            .outerjoin(settled, settled.c.once == sql.literal("s:") + _EVENTS.c.decision)
            .where(
                _EVENTS.c.number > after,
                sql.or_(_EVENTS.c.kind == "activation", sql.and_(_EVENTS.c.kind == "decision", _EVENTS.c.shown)),
            )
            .order_by(_EVENTS.c.number)
            .limit(limit)
        )
        with _reached(), self.engine.connect() as connection:
            rows = connection.execute(query).all()
            shown, following = [], math.inf
            if len(rows) == limit and rows[-1].at > now:
                following = self._time_after(connection, rows[-1].number, now)
        for *_, at in reversed(rows):
            following = at if at <= now else following
            shown.append(following)
        due = itertools.takewhile(lambda pair: pair[1] <= now - wait, zip(rows, reversed(shown), strict=True))
        return [(number, decision, bool(has_reward)) for (number, decision, has_reward, _), _ in due]

    def _time_after(self, connection: Any, number: int, now: float) -> float:
        """When the first event beyond a number happened whose time is not in the future; infinity if none is found.

        Where a clock was ahead for very long, one call looks through a part, and the next one goes on from there.
        """
        start = max(number, self._ahead)
        query = (
            sql.select(_EVENTS.c.number, _EVENTS.c.at)
            .where(_EVENTS.c.number > start, _EVENTS.c.number <= start + _MOST_AHEAD, _EVENTS.c.at <= now)
            .order_by(_EVENTS.c.number)
            .limit(1)
        )
        found = connection.execute(query).first()
        if found is not None:
            self._ahead = found.number - 1
            return float(found.at)
        last = connection.execute(sql.select(sql.func.max(_EVENTS.c.number))).scalar_one()
        self._ahead = min(start + _MOST_AHEAD, last)
        return math.inf


class _Statements:
    """What is said in every transaction, in the driver's own terms: what SQLAlchemy does to each row of an insert takes
    longer than the insert.
    """

    def __init__(self, dialect: Any) -> None:
        mark = "?" if dialect.name == "sqlite" else "%s"
        self.last = str(sql.select(_EXPERIMENT.c.last).with_for_update().compile(dialect=dialect))
        self.advance = f"UPDATE {_EXPERIMENT.name} SET last = {mark}"
        row = f"({', '.join([mark] * len(_COLUMNS))})"
        insertion = f"INSERT INTO {_EVENTS.name} ({', '.join(_COLUMNS)}) VALUES "
        self.insertions = {rows: insertion + ", ".join([row] * rows) for rows in _ROWS}
        self.asked = f"{_ASKED.compile(dialect=dialect)} WHERE once IN ({', '.join([mark] * _AT_ONCE)})"


class _reached:  # noqa: N801
    """Whatever a database can't do is one exception, in one line."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, _FAILURES):
            raise LedgerDown(_told(error)) from error


def _told(error: BaseException) -> str:
    """What a database said, in one line, without the statement and its data."""
    return " ".join(str(error.orig if isinstance(error, DBAPIError) else error).split())[:200]


def _checked_url(url: Any) -> sql.URL:
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


@functools.lru_cache(1024)
def _played(arm: str | None) -> Any:
    """What a column of arms holds; there are few of them."""
    return None if arm is None else _loaded(arm, "an event")


def _parts(accepted: list[Numbered]) -> Iterator[list[Numbered]]:
    """Events in as few parts as there can be of the sizes of `_ROWS`, in their order.

    >>> [len(part) for part in _parts([Numbered(n, Event("arm", 0.0)) for n in range(150)])]
    [64, 64, 16, 4, 1, 1]
    """
    done = 0
    for size in _ROWS:
        while len(accepted) - done >= size:
            yield accepted[done : done + size]
            done += size


def _once(event: Event) -> str:
    return f"{_ONCE[event.kind]}:{event.decision}"


def _judged(event: Event, known: dict[str, Event]) -> tuple[Outcome, Event]:
    """Whether an event can be appended, and the event with all that its row holds."""
    if event.decision is None:
        return "accepted", event
    made = known.get(f"d:{event.decision}")
    if event.kind == "decision":
        return ("accepted" if made is None else "repeated"), event
    if made is None:
        return "unknown", event
    shown = made.shown or f"a:{event.decision}" in known
    if event.kind == "activation":
        return ("repeated" if shown else "accepted"), event._replace(arm=made.arm)
    settled = known.get(f"s:{event.decision}")
    if settled is not None:
        if settled.kind == "default":
            return ("repeated" if event.kind == "default" else "late"), event
        return ("repeated" if settled.reward == event.reward or event.kind == "default" else "contradiction"), event
    if not shown:
        return "not shown", event
    return "accepted", event._replace(arm=made.arm, features=made.features)


def _row(numbered: Numbered) -> tuple[Any, ...]:
    """The values of `_COLUMNS`."""
    number, event = numbered
    return (
        number,
        event.kind,
        event.at,
        event.decision,
        _written_name(event.arm) if isinstance(event.arm, str) else _written(event.arm),
        event.propensity,
        _written(event.features),
        _written(event.available),
        event.shown,
        event.reward,
        _written(event.parameters),
        event.policy,
        None if event.decision is None else _once(event),
    )


def _written(value: Any) -> str | None:
    if value is None:
        return None
    return json.dumps(value if not hasattr(value, "tolist") else value.tolist())


@functools.lru_cache(1024)
def _written_name(name: str) -> str:
    return json.dumps(name)


def _numbered(row: Any) -> Numbered:
    fields = {name: getattr(row, name) for name in Event._fields}
    for name in _JSON:
        fields[name] = None if fields[name] is None else _loaded(fields[name], f"event {row.number}")
    wanted = {"at": float, "reward": float | None, "propensity": float | None, "decision": str | None}
    whole = isinstance(row.number, int) and row.kind in KINDS  # a row of a broken file may lack its own number
    if not whole or not all(isinstance(fields[name], kind) for name, kind in wanted.items()):
        raise LedgerDown(f"event {row.number} is damaged: restore the ledger from a copy")
    return Numbered(row.number, Event(**fields))


def _kept(connection: Any) -> dict[str, dict[str, Any]]:
    """Policies by name."""
    return {row.name: _loaded(row.content, "a policy") for row in connection.execute(sql.select(_POLICIES))}


def _told_of(row: Any) -> tuple[int, dict[str, Any]]:
    """(seed, settings) of an experiment."""
    seed, settings = (_loaded(text, "the experiment") for text in (row.seed, row.settings))
    if not isinstance(seed, int) or not 0 <= seed < 2**64 or not isinstance(settings, dict):
        raise LedgerDown("the experiment is damaged: restore the ledger from a copy")
    return seed, settings


def _loaded(text: Any, what: str) -> Any:
    """What a column of JSON holds."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise LedgerDown(f"{what} is damaged: restore the ledger from a copy") from None
