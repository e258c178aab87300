"""An experiment on a ledger: an agent whose state is a function of the ledger's events, in their order.

Several processes, on several machines, may take part in one experiment: each decides with noise of its own, from a
belief that is renewed with every transaction of its own, or when it is told to catch up.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tsgrad_runtime.agent import Agent
from tsgrad_runtime.artefact import Artefact, artefact_of
from tsgrad_runtime.checks import BadInput
from tsgrad_runtime.database import LedgerDown
from tsgrad_runtime.events import Event
from tsgrad_runtime.ledger import MOST_OVERDUE, Appended, Ledger, Outcome
from tsgrad_runtime.ledger_rows import Numbered
from tsgrad_runtime.models import Model, model_of
from tsgrad_runtime.watch import Watch


class Experiment:
    """An agent on a ledger.

    Args:
        artefact: the policy to play.
        ledger: where events are appended before they count.
        clock: seconds since 1970.
        settings: `wait`, `default` and `batch` of the agent; those of the ledger must be the same.

    """

    def __init__(
        self, artefact: Artefact, ledger: Ledger, *, clock: Callable[[], float] = time.time, **settings: Any
    ) -> None:
        self.ledger = ledger
        Agent(artefact, **settings)  # checks the settings before the ledger has them

        def check(known: dict[str, Any], kept: dict[str, dict[str, Any]]) -> None:
            if known != settings:
                raise BadInput(
                    f"ledger {ledger.name} is of an experiment with settings {known}, got {settings}: give the same, or"
                    " another ledger"
                )
            for content in kept.values():
                _check_kin(artefact, content, ledger.name)

        seed, process = ledger.enter(settings, artefact.name, artefact.content, check)
        self.agent = Agent(artefact, seed=seed, process=process, clock=clock, **settings)
        self.agent.keeps_open = False
        self.seen = 0  # the number of the last event that the state knows
        self._lost: str | None = None  # why the state can't follow the ledger any more
        self._void: set[int] = set()  # numbers of events that changed nothing: other events had come first
        self._expired = 0
        self.watch = Watch()
        self.catch_up()

    def catch_up(self) -> int:
        """Learns what others have appended; how many events there were."""
        before = self.seen
        self.learn_events(self.ledger.all_events(self.seen))
        return self.seen - before

    def append(self, events: Sequence[Event]) -> list[Outcome]:
        """Appends events in one transaction; what each came to. The state knows them, and all before them, then."""
        return self.learn(self.write(events))

    def write(self, events: Sequence[Event]) -> Appended:
        """Appends events and reads what others have appended before; the state stays as it is until it learns them.

        All that waits for the database is here, so that a thread can do it.
        """
        self.check_follows()
        appended = self.ledger.append(events)
        if not appended.events or appended.events[0].number == self.seen + 1:
            return appended
        return appended._replace(others=list(self.ledger.all_events(self.seen)))

    def learn(self, appended: Appended) -> list[Outcome]:
        """Renews the state by what was written, and by what others have appended before."""
        self.learn_events(appended.others)
        self.learn_events(appended.events)
        if not self._void:
            return appended.outcomes
        accepted = iter(appended.events)
        return [
            "impossible" if outcome == "accepted" and next(accepted).number in self._void else outcome
            for outcome in appended.outcomes
        ]

    def learn_events(self, events: Iterable[Numbered]) -> None:
        """Renews the state by events of the ledger, in their order; those that it knows are left out."""
        self.check_follows()
        for numbered in events:
            if numbered.number > self.seen:
                self._learn(numbered)

    def check_follows(self) -> None:
        """Refuses to go on once the ledger holds an event that the state can't learn: what is decided from then on
        would come of a belief that stands still, and would be in the ledger although nobody was told.
        """
        if self._lost is not None:
            raise LedgerDown(self._lost)

    def overdue(self) -> list[Event]:
        """Default rewards for what has waited too long: some of them, the first first; none when all have theirs."""
        agent = self.agent
        if agent.wait is None:
            return []
        now = agent.clock()
        while True:
            found = self.ledger.overdue(now, agent.wait, self._expired)
            for number, _, has_reward in found:
                if not has_reward:
                    break
                self._expired = number  # nothing up to here is ever looked at again
            late = [decision for _, decision, has_reward in found if not has_reward]
            if late or len(found) < MOST_OVERDUE:
                return [Event("default", now, decision, reward=agent.default) for decision in late]

    def _learn(self, numbered: Numbered) -> None:
        number, event = numbered
        try:
            _check_reward(self.agent, event)
            self.watch.see(self.agent, event)
            if not self.agent.apply(event):
                self._void.add(number)
        except _MISFITS as error:
            misfit = _misfit(self.ledger, number, error)
            self._lost = str(misfit)
            raise misfit from error
        self.seen = number


def rebuilt(ledger: Ledger, policy: str | None = None) -> Agent:
    """The agent that a ledger's events make, from the first to the last: the belief of whoever has seen them all.

    `policy` names the artefact to believe with; the last that decided unless given.
    """
    policies = ledger.policies()
    last = policy
    events = list(ledger.all_events())
    for numbered in events:
        last = last if policy is not None else numbered.event.policy or last
    if last is None and len(policies) == 1:
        (last,) = policies
    if last not in policies:
        raise BadInput(f"ledger {ledger.name} holds no policy {last!r:.80}")
    seed, settings = ledger.described()
    try:
        agent = Agent(artefact_of(policies[last], ledger.name), seed=seed, **settings)
    except (KeyError, TypeError, AttributeError):
        raise BadInput(f"ledger {ledger.name}: its policy or its settings are damaged") from None
    agent.keeps_open = False
    for number, event in events:
        try:
            _check_reward(agent, event)
            agent.apply(event)
        except _MISFITS as error:
            raise _misfit(ledger, number, error) from error
    return agent


def kept_model(kept: dict[str, Any], ledger: str) -> Model:
    """The model of a policy that a ledger keeps."""
    try:
        return model_of(kept["problem"])
    except (BadInput, KeyError, TypeError, AttributeError):
        raise BadInput(f"ledger {ledger}: a policy that it keeps is damaged: restore it from a copy") from None


def _check_kin(artefact: Artefact, kept: dict[str, Any], ledger: str) -> None:
    """Refuses a policy that can't learn from the decisions of one that the ledger keeps: its next version can."""
    model = kept_model(kept, ledger)
    arms, own = kept.get("arms", [str(number) for number in range(model.arms or 0)]), list(artefact.arms)
    if arms != own:
        raise BadInput(
            f"ledger {ledger} is of an experiment with arms {arms!s:.80}: give a policy with these arms in this order,"
            f" or another ledger, got {own!s:.80}"
        )
    if _learned(model) != _learned(artefact.model):
        raise BadInput(
            f"ledger {ledger} is of an experiment with another problem, {kept['problem'].get('kind')!r:.40} (kind,"
            " contexts, dimensions and fixed features must be the same): give a policy for that, or another ledger,"
            f" got {artefact.content['problem'].get('kind')!r:.40}"
        )


def _learned(model: Model) -> tuple[Any, ...]:
    """What rewards and features must be like for a model to learn from them: two that have it in common can share them,
    whatever their priors.
    """
    fixed = None if model.features is None or model.varying else model.features.tolist()
    return type(model), model.contexts, [part.shape for part in model.prior()], fixed


def _check_reward(agent: Agent, event: Event) -> None:
    if event.reward is not None:
        agent.model.check_reward(event.reward)


# What an event raises that was made with other arms, or by another problem.
_MISFITS = (KeyError, TypeError, ValueError, AssertionError, IndexError)


def _misfit(ledger: Ledger, number: int, error: Exception) -> BadInput:
    why = f" ({error!s:.120})" if isinstance(error, BadInput) else ""
    return BadInput(
        f"ledger {ledger.name}: event {number} does not belong to this policy{why}: give one with the arms that it was"
        " begun with, or another ledger"
    )
