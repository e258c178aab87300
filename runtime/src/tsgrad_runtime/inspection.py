"""Whether a ledger is whole: what `tsgrad ledger check` says."""

from typing import NamedTuple

from tsgrad_runtime.experiment import rebuilt
from tsgrad_runtime.ledger import Ledger


class Inspection(NamedTuple):
    """How many events of each kind there are, and what is wrong with them: nothing, in a whole ledger."""

    counts: dict[str, int]
    faults: list[str]


def inspected(ledger: Ledger) -> Inspection:
    """Reads a ledger from its first event to its last, and rebuilds the belief."""
    counts: dict[str, int] = {}
    faults: list[str] = []
    shown: set[str] = set()
    hidden: set[str] = set()
    settled: set[str] = set()
    expected = 1
    for number, event in ledger.all_events():
        if number != expected:
            faults.append(f"event {expected} is missing: {number} follows the one before it")
        expected = number + 1
        counts[event.kind] = counts.get(event.kind, 0) + 1
        name = event.decision or ""
        if event.kind == "decision":
            if name in shown or name in hidden:
                faults.append(f"event {number}: decision {name} was made twice")
            if event.propensity is not None and not 0 < event.propensity <= 1 + 1e-9:
                faults.append(f"event {number}: propensity {event.propensity} is no probability")
            (shown if event.shown else hidden).add(name)
        elif event.kind == "activation":
            if name not in hidden:
                faults.append(f"event {number}: decision {name} had nothing to activate")
            hidden.discard(name)
            shown.add(name)
        elif event.kind in {"reward", "default"}:
            if name not in shown or name in settled:
                faults.append(f"event {number}: decision {name} is unknown, or has a reward already")
            settled.add(name)
    if not faults and counts:
        rebuilt(ledger)
    return Inspection(counts, faults)
