"""Whether a ledger is whole: what `tsgrad ledger check` says."""

from typing import Any, NamedTuple

from tsgrad_runtime.checks import BadInput
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import kept_model, rebuilt
from tsgrad_runtime.ledger import Ledger
from tsgrad_runtime.models import Model


class Inspection(NamedTuple):
    """How many events of each kind there are, and what is wrong with them: nothing, in a whole ledger."""

    counts: dict[str, int]
    faults: list[str]


def inspected(ledger: Ledger) -> Inspection:
    """Reads a ledger from its first event to its last, and rebuilds the belief.

    What is appended while it is read is left out.

    Raises:
        BadInput: if there is no experiment in the ledger.

    """
    _, settings = ledger.described()
    last, policies = ledger.last(), ledger.policies()
    if not policies:
        return Inspection({}, ["no policy is kept: whoever takes part keeps one first"])
    model = kept_model(next(iter(policies.values())), ledger.name)  # all learn alike, else they could not take part
    story = _Story(model, settings, set(policies))
    counts: dict[str, int] = {}
    faults: list[str] = []
    expected = 1
    for number, event in ledger.all_events():
        if number > last:
            break
        if number != expected:
            faults.append(f"{_events(expected, number - 1)} missing: {number} follows")
        expected = number + 1
        counts[event.kind] = counts.get(event.kind, 0) + 1
        fault = story.fault(event)
        if fault is not None:
            faults.append(f"event {number}: {fault}")
    if expected <= last:
        faults.append(f"{_events(expected, last)} missing: the ledger has counted {last}")
    if not faults and counts:
        try:
            rebuilt(ledger, None if story.decided else next(iter(policies)))
        except BadInput as misfit:
            faults.append(str(misfit))
    return Inspection(counts, faults)


def _events(first: int, last: int) -> str:
    return f"event {first} is" if first == last else f"events {first} to {last} are"


class _Story:
    """What has become of every decision so far."""

    def __init__(self, model: Model, settings: dict[str, Any], policies: set[str]) -> None:
        self._model, self._settings, self._policies = model, settings, policies
        self._hidden: dict[str, Event] = {}
        self._waiting: dict[str, Event] = {}
        self._settled: set[str] = set()
        self.decided = False  # whether there was any decision

    def fault(self, event: Event) -> str | None:
        """What is wrong with the next event, if anything is."""
        match event.kind:
            case "decision":
                self.decided = True
                return self._made(event, event.decision or "")
            case "activation":
                return self._activated(event, event.decision or "")
            case "reward" | "default":
                return self._rewarded(event, event.decision or "")
            case _:  # whether an arm could come or go is for the agent to say
                return None

    def _made(self, event: Event, name: str) -> str | None:
        if name in self._waiting or name in self._hidden or name in self._settled:
            return f"decision {name} was made twice"
        (self._waiting if event.shown else self._hidden)[name] = event
        if event.propensity is not None and not 0 < event.propensity <= 1 + 1e-9:
            return f"propensity {event.propensity} is no probability"
        if event.policy is not None and event.policy not in self._policies:
            return f"policy {event.policy!r:.80} is not kept"
        available = event.available
        if available is not None and not (isinstance(available, list) and event.arm in available):
            return f"arm {event.arm!r:.80} was not available"
        return None

    def _activated(self, event: Event, name: str) -> str | None:
        made = self._hidden.pop(name, None)
        if made is None:
            return f"decision {name} had nothing to activate"
        self._waiting[name] = made
        return None if event.arm == made.arm else f"arm {event.arm!r:.80} is not that of decision {name}"

    def _rewarded(self, event: Event, name: str) -> str | None:
        made = self._waiting.pop(name, None)
        if made is None:
            return f"decision {name} is unknown, was not shown, or has a reward already"
        self._settled.add(name)
        if event.arm != made.arm or event.features != made.features:
            return f"arm or features are not those of decision {name}"
        if event.kind == "default" and self._settings.get("wait") is None:
            return "a default reward counts although none was to be waited for"
        if event.kind == "default" and event.reward != self._settings.get("default", 0.0):
            return f"default reward {event.reward} is not that of the experiment"
        try:
            self._model.check_reward(event.reward)
        except BadInput as wrong:
            return str(wrong)
        return None
