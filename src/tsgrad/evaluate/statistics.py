"""What a sample of regrets says: means, tails, and paired differences with simultaneous confidence intervals."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput

QUANTILES = (0.5, 0.9, 0.99)


class Gain(NamedTuple):
    """The regret of the reference less that of a policy, paired by episode.

    `low` to `high` are simultaneous confidence intervals for all policies of a comparison; `p_value` is that of no
    difference, corrected for how many there are.
    """

    mean: float
    standard_error: float
    low: float
    high: float
    p_value: float

    @property
    def half_width(self) -> float:
        """To how much the gain is known."""
        return (self.high - self.low) / 2


def check_regrets(whose: str, regrets: FloatArray) -> None:
    """Regrets [N] that statistics can be made from.

    >>> check_regrets("policy 'a'", np.array([1.0, np.nan]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: the regret of policy 'a' is nan in episode 1: play with precision='float64', ...
    """
    wrong = np.flatnonzero(~np.isfinite(regrets))
    if wrong.size:
        raise BadInput(
            f"the regret of {whose} is {regrets[wrong[0]]} in episode {wrong[0]}: play with precision='float64',"
            " or state a less extreme problem"
        )


def mean_and_error(sample: FloatArray) -> tuple[float, float]:
    """Mean and its standard error, of a sample [N].

    >>> mean_and_error(np.array([1.0, 3.0]))
    (2.0, 1.0)
    """
    return float(np.mean(sample)), float(np.std(sample, ddof=1) / np.sqrt(len(sample)))


def worst_decile(sample: FloatArray) -> float:
    """The mean of the largest tenth of a sample [N], of one number at least.

    >>> worst_decile(np.arange(20.0))
    18.5
    """
    largest = -(-len(sample) // 10)
    return float(np.mean(np.partition(sample, len(sample) - largest)[-largest:]))


def paired_gains(reference: FloatArray, others: Mapping[str, FloatArray], confidence: float) -> dict[str, Gain]:
    """Gains over the reference [N] of other policies [N] on the same episodes, for all of them at once.

    Intervals are Sidak's: with m policies each has level confidence^(1/m), and whatever the correlations, all of them
    hold with probability `confidence` at least (Sidak, 1967). Gains over one reference are correlated, so that
    Dunnett's intervals would be a few percent narrower; they need a multivariate integral, these a formula. P-values
    are corrected step by step, as Holm (1979) does, with the same inequality; they tell differences from none a little
    more often than intervals, which say how large a difference is too.

        >>> gains = paired_gains(np.array([2.0, 4.0, 3.0]), {"other": np.array([1.0, 2.0, 3.0])}, 0.95)
        >>> print(f"{gains['other'].mean:.1f} {gains['other'].standard_error:.3f} {gains['other'].p_value:.3f}")
        1.0 0.577 0.225
    """
    from scipy.special import stdtr, stdtrit

    if not others:
        return {}
    check_regrets("the reference", reference)
    for name, regret in others.items():
        check_regrets(f"policy {name!r}", regret)
    freedom = len(reference) - 1
    width = float(stdtrit(freedom, (1 + confidence ** (1 / len(others))) / 2))
    found = {name: mean_and_error(reference - regret) for name, regret in others.items()}
    raw = {name: 2 * float(stdtr(freedom, -abs(_ratio(*moments)))) for name, moments in found.items()}
    corrected = _step_down(raw)
    return {
        name: Gain(mean, error, mean - width * error, mean + width * error, corrected[name])
        for name, (mean, error) in found.items()
    }


def _ratio(mean: float, error: float) -> float:
    """The t statistic: zero for policies that never differ, infinite for those that always differ by the same."""
    if error == 0:
        return 0.0 if mean == 0 else float("inf")
    return mean / error


def _step_down(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's correction with Sidak's inequality: the smallest of m as one of m, the next as one of m - 1, ...

    A p-value that could not be computed counts as one: it shows nothing.
    """
    known = {name: 1.0 if np.isnan(alone) else alone for name, alone in p_values.items()}
    corrected: dict[str, float] = {}
    largest = 0.0
    for position, name in enumerate(sorted(known, key=lambda name: known[name])):
        alone = known[name]
        together = 1.0 if alone >= 1 else float(-np.expm1((len(known) - position) * np.log1p(-alone)))
        largest = corrected[name] = max(largest, together)
    return corrected
