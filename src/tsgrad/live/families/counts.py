"""What families of counts share: the evidence of a count, and chances below it."""

from typing import Any

import numpy as np
from scipy import special

from tsgrad.arrays import FloatArray


def log_evidence(start: Any, count: FloatArray, strength: Any, pulls: FloatArray) -> FloatArray:
    """The part of a count in the log-likelihood of an arm, less what it is at the arm's own average.

    With G(a, k) the logarithm of a (a + 1) ... (a + k - 1) (e / k)^k, it is G(start, count) - (start - 1/2) log(1 +
    pulls / strength) - count log(1 + strength / pulls). Nothing in it is as large as the counts are, or as a strong
    prior: `start / strength` and `count / pulls` differ little in both cases, and gamma functions are told by what is
    left of them after Stirling's formula.

        >>> print(log_evidence(2.0, np.array([0.0, 30.0, 3e11]), 10.0, np.array([100.0, 100.0, 1e12])).round(4))
        [-3.5968 -0.3998 -0.4331]
    """
    first, some = np.maximum(start, _TINY), np.maximum(count, 1)  # where there are none, they add nothing
    last, whole = first + count, strength + pulls
    apart = (first * pulls - strength * count) / whole
    log_first, log_last, log_whole = np.log(first), np.log(last), np.log(whole)
    of_rate = _log_one_plus(apart / some, log_last - np.log(some) + np.log(pulls) - log_whole)
    of_prior = _log_one_plus(-apart / first, log_last - log_first + np.log(strength) - log_whole)
    rest = beyond_stirling(last, log_last) - beyond_stirling(first, log_first)
    return np.asarray(count * of_rate + (first - 0.5) * of_prior + rest)


def beyond_stirling(x: Any, log_x: Any) -> Any:
    """By how much log Gamma(x) exceeds (x - 1/2) log x - x + log(2 pi) / 2: next to nothing where x is large."""
    large = np.maximum(x, _STIRLING)
    series = (1 / 12 - (1 / 360 - 1 / (1260 * large**2)) / large**2) / large
    few = x < _STIRLING
    if not np.any(few):
        return series
    return np.where(few, special.gammaln(np.minimum(x, _STIRLING)) - (x - 0.5) * log_x + x - _HALF_LOG, series)


_TINY = 1e-300  # what a search rounds to zero on its way to a prior that is too weak for any log
_STIRLING = 50.0  # from where three terms of Stirling's series are exact
_HALF_LOG = 0.5 * np.log(2 * np.pi)


def _log_one_plus(x: Any, far: Any) -> Any:
    """The logarithm of 1 + x: what it is known to be by other ways, where it is far from zero."""
    near = np.abs(x) < 0.5
    return np.where(near, np.log1p(np.where(near, x, 0.0)), far)


def cdfs_of_counts(law: Any, total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Below, and at most, totals that are counts; there is nothing below zero, where scipy would look."""
    return np.where(total > 0, law.cdf(np.maximum(total - 1, 0)), 0.0), law.cdf(total)
