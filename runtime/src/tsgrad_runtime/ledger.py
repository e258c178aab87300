"""The ledger: every event of an experiment, appended in a transaction before it is acknowledged.

SQLite as it comes (in WAL mode), PostgreSQL by its URL. Events are numbered by a counter whose row stays locked until
the transaction ends, so that they become visible in the order of their numbers: whoever has read up to a number has
missed nothing below it. What is believed is a function of the events in that order.
"""

import itertools
import json
import math
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import sqlalchemy as sql
from sqlalchemy.exc import IntegrityError

from tsgrad_runtime.checks import BadInput
from tsgrad_runtime.database import FAILURES, LedgerDown, checked_url, engine_of, reached, told
from tsgrad_runtime.events import Event
from tsgrad_runtime.ledger_rows import (
    AT_ONCE,
    EVENTS,
    EXPERIMENT,
    POLICIES,
    TABLES,
    Numbered,
    Statements,
    arm_of,
    insertions_of,
    kept_policies,
    loaded,
    numbered_of,
    once_of,
    row_of,
    settings_of,
)

FORMAT = 1
# "impossible" is an arm that could be added or withdrawn when that was asked for, but not when its turn came.
Outcome = Literal["accepted", "repeated", "unknown", "not shown", "contradiction", "late", "impossible"]

Check = Callable[[dict[str, Any], dict[str, dict[str, Any]]], None]

MOST_OVERDUE = 500  # decisions that are looked at in one query
_MOST_AHEAD = 100_000  # events from a clock that was ahead that are passed over in one query
_MOST_OPEN = 2**14


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
        self.url = checked_url(url)
        if reading and self.url.get_backend_name() == "sqlite" and not Path(self.url.database or "").exists():
            raise BadInput(f"ledger {self.name:.120} is not there")
        self.engine = engine_of(self.url, reading=reading)
        self._statements = Statements(self.engine.dialect)
        self._ahead = 0  # up to which number times were in the future when they were last looked at
        self._open: dict[str, Event] = {}  # the last decisions made here that were shown and wait
        if reading:
            try:
                self.described()
            except Exception:  # nobody gets the ledger, to close it
                self.close()
                raise
            return
        try:
            TABLES.create_all(self.engine)
        except FAILURES:  # another process may have made them at the same moment
            with reached():
                TABLES.create_all(self.engine)

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
            with reached():
                return self._enter(settings, name, content, check)
        except FAILURES as error:
            raise LedgerDown(told(error)) from error

    def described(self) -> tuple[int, dict[str, Any]]:
        """(seed, settings) of the experiment."""
        with reached(), self.engine.connect() as connection:
            there = sql.inspect(connection).has_table(EXPERIMENT.name)
            row = connection.execute(sql.select(EXPERIMENT)).first() if there else None
        if row is None:
            raise BadInput(f"ledger {self.name} holds no experiment: give the URL that the service was given")
        self._check_format(row.format)
        return settings_of(row)

    def last(self) -> int:
        """The number of the last event, by the counter that all appending goes by."""
        with reached(), self.engine.connect() as connection:
            last = connection.execute(sql.select(EXPERIMENT.c.last)).scalar_one()
        if not isinstance(last, int):
            raise LedgerDown("the experiment is damaged: restore the ledger from a copy")
        return last

    def _check_format(self, found: Any) -> None:
        if found != FORMAT:
            raise BadInput(f"ledger {self.name} has format {found!r:.20}, this version reads {FORMAT}")

    def _enter(self, settings: dict[str, Any], name: str, content: dict[str, Any], check: Check) -> tuple[int, int]:
        with self.engine.begin() as connection:
            row = connection.execute(sql.select(EXPERIMENT).with_for_update()).first()
            if row is None:
                connection.execute(
                    EXPERIMENT.insert().values(
                        id=1,
                        format=FORMAT,
                        created=time.time(),
                        seed=str(secrets.randbits(64)),
                        settings=json.dumps(settings),
                        processes=0,
                        last=0,
                    )
                )
                row = connection.execute(sql.select(EXPERIMENT)).one()
            self._check_format(row.format)
            seed, known = settings_of(row)
            kept = kept_policies(connection)
            check(known, kept)
            if name not in kept:
                connection.execute(POLICIES.insert().values(name=name, content=json.dumps(content)))
            connection.execute(EXPERIMENT.update().values(processes=row.processes + 1))
            return seed, int(row.processes)

    def policies(self) -> dict[str, dict[str, Any]]:
        """The content of every policy that took part, by name: the ledger alone tells what decided."""
        with reached(), self.engine.connect() as connection:
            return kept_policies(connection)

    @property
    def name(self) -> str:
        """The URL, without its password."""
        return self.url.render_as_string(hide_password=True)

    def append(self, events: Sequence[Event]) -> Appended:
        """Appends events in one transaction, but for those that are repeated or not possible."""
        with reached():
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
                        known[once_of(complete)] = complete
            if accepted:
                for part in insertions_of(accepted):
                    values = [value for numbered in part for value in row_of(numbered)]
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
        for start in range(0, len(asked), AT_ONCE):
            part = asked[start : start + AT_ONCE]
            rows = connection.exec_driver_sql(self._statements.asked, (*part, *part[:1] * (AT_ONCE - len(part))))
            for once, kind, arm, features, shown, reward in rows.all():
                seen = loaded(features, "an event") if features is not None else None
                found[once] = Event(kind, 0.0, None, arm_of(arm), None, seen, None, bool(shown), reward)
        return found

    def probe(self) -> None:
        """Writes what is there already, to find out whether the ledger can be written to."""
        with reached(), self.engine.begin() as connection:
            connection.execute(EXPERIMENT.update().values(last=EXPERIMENT.c.last))

    def events(self, after: int = 0, limit: int = 10_000) -> list[Numbered]:
        """The events that follow a number, in order."""
        query = sql.select(EVENTS).where(EVENTS.c.number > after).order_by(EVENTS.c.number).limit(limit)
        with reached(), self.engine.connect() as connection:
            return [numbered_of(row) for row in connection.execute(query)]

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
        settled = EVENTS.alias()
        query = (
            sql.select(EVENTS.c.number, EVENTS.c.decision, settled.c.number.is_not(None), EVENTS.c.at)
            .outerjoin(settled, settled.c.once == sql.literal("s:") + EVENTS.c.decision)
            .where(
                EVENTS.c.number > after,
                sql.or_(EVENTS.c.kind == "activation", sql.and_(EVENTS.c.kind == "decision", EVENTS.c.shown)),
            )
            .order_by(EVENTS.c.number)
            .limit(limit)
        )
        with reached(), self.engine.connect() as connection:
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
            sql.select(EVENTS.c.number, EVENTS.c.at)
            .where(EVENTS.c.number > start, EVENTS.c.number <= start + _MOST_AHEAD, EVENTS.c.at <= now)
            .order_by(EVENTS.c.number)
            .limit(1)
        )
        found = connection.execute(query).first()
        if found is not None:
            self._ahead = found.number - 1
            return float(found.at)
        last = connection.execute(sql.select(sql.func.max(EVENTS.c.number))).scalar_one()
        self._ahead = min(start + _MOST_AHEAD, last)
        return math.inf


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
