"""Meta-parameters and problems in words."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tsgrad.report.words import listing, short

MEANINGS = {
    "prior_mean": (
        "The reward that sampling pretends to expect of an arm before it was tried. Above the problem's own value the "
        "arm is tried early, out of optimism; below it, late or never."
    ),
    "prior_variance": (
        "How widely sampling draws around what it knows. Below the problem's own value there is less exploration "
        "than in plain Thompson sampling, from the first step on."
    ),
    "precision_ratio": (
        "The weight of one reward against the prior. Above the problem's own value rewards are believed sooner, and "
        "an arm that was pulled is explored less."
    ),
    "alpha": "The successes that sampling pretends to have seen before an arm was tried. More of them: more optimism.",
    "beta": "The failures that sampling pretends to have seen before an arm was tried. Fewer of them: more optimism.",
    "evidence_weight": (
        "How many successes or failures one reward counts for. Above one, rewards are believed sooner, and an arm that "
        "was pulled is explored less."
    ),
    "decay": (
        "How fast exploration fades: the share of steps that are left, to this power, multiplies the variance of what "
        "is drawn (with Beta draws, it divides their counts). Zero leaves it as in plain Thompson sampling; at one, "
        "half of the variance is left at half time."
    ),
}
UNKNOWN = "A meta-parameter of this family of policies; the documentation of the family says what it does."

WORDS = {
    "prior_mean": "prior mean",
    "prior_std": "prior sd",
    "noise_std": "noise sd",
    "arms": "arms",
}
PROBLEMS = {"gaussian": "Gaussian", "bernoulli": "Bernoulli", "linear": "linear", "logistic": "logistic"}


class ArmLabels(NamedTuple):
    """Names of arms below an axis: their numbers, and what tells them apart."""

    title: str
    ticks: list[str]


def meaning(name: str) -> str:
    """What a meta-parameter does, in a sentence or two.

    >>> meaning("evidence_weight")[:52]
    'How many successes or failures one reward counts for'
    """
    return MEANINGS.get(name, UNKNOWN)


def spoken(name: str) -> str:
    """A name as people say it."""
    return WORDS.get(name, name.replace("_", " "))


def problem_title(problem: Mapping[str, Any], horizon: int) -> str:
    """A problem, as `to_data` describes it, in a few words.

    >>> problem_title({"kind": "gaussian", "noise_std": [0.1, 4.0]}, 50)
    '2 Gaussian arms, 50 steps'
    """
    kind = PROBLEMS.get(problem["kind"], problem["kind"])
    arms = arm_count(problem)
    return f"{arms} {kind} arms, {horizon} steps" if arms else f"{kind} bandit, {horizon} steps"


def arm_count(problem: Mapping[str, Any]) -> int | None:
    """The length that all lists of a problem share; None where there are none, or of several lengths."""
    lengths = {len(value) for value in problem.values() if isinstance(value, Sequence) and not isinstance(value, str)}
    return lengths.pop() if len(lengths) == 1 else None


def problem_words(problem: Mapping[str, Any]) -> str:
    """What a problem, as `to_data` describes it, consists of.

    >>> problem_words({"kind": "gaussian", "prior_mean": [0.0, 0.0], "noise_std": [0.1, 4.0]})
    'gaussian; prior mean 0; noise sd 0.1, 4'
    """
    parts = [problem["kind"]]
    for name, value in problem.items():
        numbers = _numbers(value)
        if numbers is not None:
            parts.append(f"{spoken(name)} {listing(numbers)}")
    return "; ".join(parts)


def arm_labels(problem: Mapping[str, Any], arms: int) -> ArmLabels:
    r"""Arms by number, with the numbers in which they differ where these are few.

    >>> arm_labels({"kind": "gaussian", "prior_mean": [0.0, 0.0], "noise_std": [0.1, 4.0]}, 2)
    ArmLabels(title='arm, and its noise sd', ticks=['0\\n0.1', '1\\n4'])
    """
    different = {}
    for name, value in problem.items():
        numbers = _numbers(value)
        if numbers is not None and numbers.shape == (arms,) and np.any(numbers != numbers[0]):
            different[spoken(name)] = [short(number) for number in numbers]
    if arms > 12 or not different:
        return ArmLabels("arm", [str(arm) for arm in range(arms)])
    ticks = ["\n".join(parts) for parts in zip(map(str, range(arms)), *different.values(), strict=True)]
    return ArmLabels(f"arm, and its {' and '.join(different)}", ticks)


def _numbers(value: Any) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    if isinstance(value, (str | bool, Mapping)):
        return None
    return np.asarray(value, dtype=float)
