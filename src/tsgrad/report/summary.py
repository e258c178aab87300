"""The summary for a manager: earnings in the units of the experiment, the lift, the arms, what is assumed of them,
and what happens if that is wrong. The rest of the report says how it was found.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tsgrad.evaluate import Comparison
from tsgrad.evaluate.digits import decimals, fixed, interval, percentage
from tsgrad.live import Robustness
from tsgrad.problems import AnyProblem, Assumed, FiniteArms, TabledArms, assumed
from tsgrad.report.contents import Picture, Section, Table, TableRow
from tsgrad.report.sections import is_shown
from tsgrad.report.words import short
from tsgrad.simulation import Conditions, Episodes, check_names

MOST_LISTED = 12  # arms that are called by name


class Words(NamedTuple):
    """What the experiment calls its arms [K], and what a reward is one of."""

    arms: Sequence[str]
    unit: str

    @classmethod
    def of(cls, problem: AnyProblem, arms: Sequence[str] | None, unit: str) -> "Words":
        """Names as they are given, checked; arms that have none are numbered."""
        if arms is not None:
            return cls(check_names(arms, problem), unit)
        number = problem.truth.arms if isinstance(problem.truth, FiniteArms) else 0
        return cls([f"arm {arm}" for arm in range(number)], unit)


def summary_section(
    problem: AnyProblem,
    conditions: Conditions,
    comparison: Comparison,
    trained: str,
    words: Words,
    played: Episodes,
    robustness: Robustness | str,
    traffic: Picture | None,
) -> Section:
    """All of it in a few sentences, a table and the traffic of one experiment; `played` are the trained policy's.

    What is left of the gain where assumptions are wrong, or a sentence that says how to find out.
    """
    users = conditions.users(comparison.horizon) + (0 if conditions.after is None else int(conditions.after))
    best = _best_reward(problem, conditions, users, played)
    paragraphs = [
        _lift(comparison, trained, best, users, words.unit),
        _assumed(problem, words),
        f"And if that is wrong? {robustness if isinstance(robustness, str) else robustness.verdict}",
    ]
    blocks: list[Table | Picture] = [_earnings(comparison, trained, best, words.unit)]
    if traffic is not None:
        blocks.append(traffic)
    return Section("In short", paragraphs, blocks)


def _best_reward(problem: AnyProblem, conditions: Conditions, users: int, played: Episodes) -> float:
    """What is earned where the best arm is known from the start: computed where it can be, else from what was played.

    What policies earn is this less their regret, which has no noise of rewards in it.
    """
    if isinstance(problem.truth, TabledArms) and conditions.available is None:
        return users * problem.truth.expected_best_mean()
    return float(np.mean(played.reward + played.regret))


def _lift(comparison: Comparison, trained: str, best: float, users: int, unit: str) -> str:
    plain, tuned = (comparison.policies[name] for name in (comparison.reference, trained))
    gain = comparison.gains[trained]
    digits = decimals(gain.standard_error)
    more = f"{fixed(abs(gain.mean), digits)} {'more' if gain.mean > 0 else 'less'}"
    known = f"(95% confidence interval {interval(gain.mean, gain.standard_error)})"
    earned = (
        f"Over {users:,} decisions the trained policy earns {fixed(best - tuned.regret, digits)} {unit} on average,"
        f" {comparison.reference} {fixed(best - plain.regret, digits)}"
    )
    if not is_shown(gain):
        return f"{earned}: no gain beyond chance {known}."
    lift = f", a lift of {percentage(gain.mean, best - plain.regret)}" if best > plain.regret else ""
    known_best = f"A policy that knew the best arm from the start would earn {fixed(best, digits)}."
    return f"{earned}: {more} {known}{lift}. {known_best}"


def _earnings(comparison: Comparison, trained: str, best: float, unit: str) -> Table:
    plain = comparison.policies[comparison.reference]
    rows = []
    for name, result in sorted(comparison.policies.items(), key=lambda item: item[1].regret):
        gain = result.gain
        digits = max(1, decimals(result.standard_error if gain is None else gain.standard_error))
        more = "" if gain is None else fixed(gain.mean, digits)
        lift = percentage(gain.mean, best - plain.regret) if gain is not None and best > plain.regret else ""
        cells = [name, fixed(best - result.regret, digits), more, lift]
        rows.append(TableRow(cells, strong=name == comparison.best, ours=name == trained))
    return Table(
        caption=f"What an experiment earns on average, in {unit}",
        columns=["policy", "earned", "more", "lift"],
        rows=rows,
        note=f"More, and the lift, are over {comparison.reference}.",
        folded=len(rows) > 4,
    )


def _assumed(problem: AnyProblem, words: Words) -> str:
    named = ", ".join(words.arms[:MOST_LISTED])
    rest = len(words.arms) - MOST_LISTED
    which = f"The arms are {named}{f' and {rest} more' if rest > 0 else ''}. " if words.arms else ""
    return f"{which}{prior_words(assumed(problem.model), words)}"


def prior_words(prior: Assumed | None, words: Words) -> str:
    """What is assumed of the arms before the first reward, in the units of the experiment."""
    if prior is None:
        return "What is assumed of them before the first reward is said below, under what was run."
    spread = _spread(np.stack([prior.low, prior.high]), words, counted=prior.counted)
    if prior.noise_std is None:
        return spread
    return (
        f"{spread} The standard deviation of a single reward around that: {_range(prior.noise_std, prior.noise_std)}."
    )


_RAREST = 1e-6  # of rewards per decision: what is rarer is said as a number


def _spread(ends: Any, words: Words, *, counted: bool) -> str:
    """From where to where nine arms in ten are; where arms differ, from the lowest to the highest of them. What is
    counted and rare is said of as many decisions as have one to ten of it.
    """
    alike, most = np.allclose(ends, ends[:, :1]), float(np.max(ends))
    per = 10 ** int(np.ceil(-np.log10(most))) if counted and _RAREST < most < 0.1 else 1
    return (
        f"It is assumed that {'an arm' if alike else 'the arms, which differ,'} will pay {_range(*(per * ends))}"
        f" {words.unit} per {'decision' if per == 1 else f'{per:,} decisions'}, nine times out of ten."
    )


def _range(low: Any, high: Any) -> str:
    ends = [short(float(np.min(low))), short(float(np.max(high)))]
    return ends[0] if ends[0] == ends[1] else f"from {ends[0]} to {ends[1]}"
