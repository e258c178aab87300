"""What a ledger's tables hold, and how an event becomes a row and a row an event."""

import functools
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import sqlalchemy as sql

from tsgrad_runtime.database import LedgerDown
from tsgrad_runtime.events import KINDS, Event

TABLES = sql.MetaData()
EXPERIMENT = sql.Table(
    "tsgrad_experiment",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("format", sql.Integer, nullable=False),
    sql.Column("created", sql.Float, nullable=False),
    sql.Column("seed", sql.String(20), nullable=False),
    sql.Column("settings", sql.Text, nullable=False),
    sql.Column("processes", sql.Integer, nullable=False),
    sql.Column("last", sql.BigInteger, nullable=False),  # the number of the last event
)
POLICIES = sql.Table(
    "tsgrad_policies",
    TABLES,
    sql.Column("name", sql.String(64), primary_key=True),
    sql.Column("content", sql.Text, nullable=False),
)
EVENTS = sql.Table(
    "tsgrad_events",
    TABLES,
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
_COLUMNS = tuple(column.name for column in EVENTS.columns)
_ASKED = sql.select(*(EVENTS.c[name] for name in ("once", "kind", "arm", "features", "shown", "reward")))
AT_ONCE = 64  # things that are asked for in one query: always as many, so that a database knows the query
# Rows of one insert. With a row each, the driver lets another thread run after every one, and waits for its turn again.
_ROWS = (64, 16, 4, 1)
_ONCE = {"decision": "d", "activation": "a", "reward": "s", "default": "s"}
_JSON = ("arm", "features", "available", "parameters")


class Numbered(NamedTuple):
    """An event with its number in the ledger."""

    number: int
    event: Event


class Statements:
    """What is said in every transaction, in the driver's own terms: what SQLAlchemy does to each row of an insert takes
    longer than the insert.
    """

    def __init__(self, dialect: Any) -> None:
        mark = "?" if dialect.name == "sqlite" else "%s"
        self.last = str(sql.select(EXPERIMENT.c.last).with_for_update().compile(dialect=dialect))
        self.advance = f"UPDATE {EXPERIMENT.name} SET last = {mark}"
        row = f"({', '.join([mark] * len(_COLUMNS))})"
        insertion = f"INSERT INTO {EVENTS.name} ({', '.join(_COLUMNS)}) VALUES "
        self.insertions = {rows: insertion + ", ".join([row] * rows) for rows in _ROWS}
        self.asked = f"{_ASKED.compile(dialect=dialect)} WHERE once IN ({', '.join([mark] * AT_ONCE)})"


def insertions_of(accepted: list[Numbered]) -> Iterator[list[Numbered]]:
    """Events in as few parts as there can be of the sizes of `_ROWS`, in their order.

    >>> [len(part) for part in insertions_of([Numbered(n, Event("arm", 0.0)) for n in range(150)])]
    [64, 64, 16, 4, 1, 1]
    """
    done = 0
    for size in _ROWS:
        while len(accepted) - done >= size:
            yield accepted[done : done + size]
            done += size


def once_of(event: Event) -> str:
    """What the column `once` holds of an event: what happens in it to its decision, and can happen only once."""
    return f"{_ONCE[event.kind]}:{event.decision}"


def row_of(numbered: Numbered) -> tuple[Any, ...]:
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
        None if event.decision is None else once_of(event),
    )


def _written(value: Any) -> str | None:
    if value is None:
        return None
    return json.dumps(value if not hasattr(value, "tolist") else value.tolist())


@functools.lru_cache(1024)
def _written_name(name: str) -> str:
    return json.dumps(name)


def numbered_of(row: Any) -> Numbered:
    """The event that a row holds, and its number."""
    fields = {name: getattr(row, name) for name in Event._fields}
    for name in _JSON:
        fields[name] = None if fields[name] is None else loaded(fields[name], f"event {row.number}")
    wanted = {"at": float, "reward": float | None, "propensity": float | None, "decision": str | None}
    whole = isinstance(row.number, int) and row.kind in KINDS  # a row of a broken file may lack its own number
    if not whole or not all(isinstance(fields[name], kind) for name, kind in wanted.items()):
        raise LedgerDown(f"event {row.number} is damaged: restore the ledger from a copy")
    return Numbered(row.number, Event(**fields))


def kept_policies(connection: Any) -> dict[str, dict[str, Any]]:
    """Policies by name."""
    return {row.name: loaded(row.content, "a policy") for row in connection.execute(sql.select(POLICIES))}


def settings_of(row: Any) -> tuple[int, dict[str, Any]]:
    """(seed, settings) of an experiment."""
    seed, settings = (loaded(text, "the experiment") for text in (row.seed, row.settings))
    if not isinstance(seed, int) or not 0 <= seed < 2**64 or not isinstance(settings, dict):
        raise LedgerDown("the experiment is damaged: restore the ledger from a copy")
    return seed, settings


def loaded(text: Any, what: str) -> Any:
    """What a column of JSON holds."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise LedgerDown(f"{what} is damaged: restore the ledger from a copy") from None


@functools.lru_cache(1024)
def arm_of(arm: str | None) -> Any:
    """What a column of arms holds; there are few of them."""
    return None if arm is None else loaded(arm, "an event")
