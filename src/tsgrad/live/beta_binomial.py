"""The distribution function of beta-binomial counts, for thousands of arms whose counts are anything from 0 to 10^12.

SciPy's sums are as long as counts are large. Here they are as long as the smaller of successes and failures, and give
way to an integral where that is long.
"""

from typing import Any

import numpy as np
from scipy import special

from tsgrad.arrays import FloatArray

_LONGEST_SUM, _RATES = 500, 256
_SURE = 1e8  # counts from which on a beta law is normal to four digits
_AT_ONCE = 1024  # units, whose sums are in memory together


class BetaBinomialLaw:
    """Successes among `pulls` [n] at rates that are Beta(alpha, beta), of each unit its own or of all the same.

    >>> print(BetaBinomialLaw(np.array([1.0, 2.0]), 1.0, 1.0).cdf(np.array([0.0, 1.0])).round(6))
    [0.5      0.666667]
    """

    def __init__(self, pulls: FloatArray, alpha: Any, beta: Any) -> None:
        self._pulls = pulls
        self._alpha, self._beta = (np.broadcast_to(each, pulls.shape) for each in (alpha, beta))

    def cdf(self, total: FloatArray) -> FloatArray:
        """The chance of at most so many, of every unit; exact for sums, right to 0.002 for integrals."""
        blocks = [slice(first, first + _AT_ONCE) for first in range(0, len(total), _AT_ONCE)]
        return np.concatenate([self._of_block(total[block], block) for block in blocks])

    def _of_block(self, total: FloatArray, block: slice) -> FloatArray:
        pulls, alpha, beta = self._pulls[block], self._alpha[block], self._beta[block]
        # At most k successes are not at most n - k - 1 failures.
        by_failures = pulls - total < total
        count = np.where(by_failures, pulls - total - 1, total)
        alpha, beta = np.where(by_failures, beta, alpha), np.where(by_failures, alpha, beta)
        found = np.empty(len(total))
        for which, chance in ((count <= _LONGEST_SUM, _summed), (count > _LONGEST_SUM, _integrated)):
            if np.any(which):
                found[which] = chance(count[which], pulls[which], alpha[which], beta[which])
        return np.where(by_failures, 1 - found, found)


def _summed(count: FloatArray, pulls: FloatArray, alpha: FloatArray, beta: FloatArray) -> FloatArray:
    """From the chance of none on, each chance is the one before times a ratio."""
    steps = np.arange(int(np.max(count)) + 1)
    inside = steps <= count[:, None]
    left = np.maximum(pulls[:, None] - steps, 1)  # it is, wherever a sum goes
    ratio = left[:, :-1] * (alpha[:, None] + steps[:-1]) / ((steps[:-1] + 1) * (beta[:, None] + left[:, 1:]))
    none = special.betaln(alpha, beta + pulls) - special.betaln(alpha, beta)
    chances = none[:, None] + np.cumsum(np.log(np.concatenate([np.ones((len(count), 1)), ratio], axis=1)), axis=1)
    return np.asarray(np.minimum(np.sum(np.exp(np.where(inside, chances, -np.inf)), axis=1), 1.0))


def _integrated(count: FloatArray, pulls: FloatArray, alpha: FloatArray, beta: FloatArray) -> FloatArray:
    """The mean over rates at even steps of their chance; counts given a rate are normal but for their skewness."""
    priors, which = np.unique(np.stack([alpha, beta], axis=1), axis=0, return_inverse=True)
    rates = _quantiles(priors[:, :1], priors[:, 1:], (np.arange(_RATES) + 0.5) / _RATES)[np.ravel(which)]
    spread = np.maximum(np.sqrt(pulls[:, None] * rates * (1 - rates)), 1e-9)
    z = np.clip((count[:, None] + 0.5 - pulls[:, None] * rates) / spread, -40, 40)
    skewness = np.clip((1 - 2 * rates) / spread, -0.1, 0.1)
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return np.asarray(np.clip(special.ndtr(z) - skewness / 6 * (z**2 - 1) * density, 0, 1).mean(axis=1))


def _quantiles(alpha: FloatArray, beta: FloatArray, levels: FloatArray) -> FloatArray:
    """Of beta laws; of the normal laws that they are where both counts are large, and SciPy finds no quantiles."""
    strength = alpha + beta
    mean = alpha / strength
    normal = mean + np.sqrt(mean * (1 - mean) / strength) * special.ndtri(levels)
    sure = np.minimum(alpha, beta) > _SURE
    exact = special.betaincinv(np.where(sure, 1, alpha), np.where(sure, 1, beta), levels)
    return np.asarray(np.where(sure, normal, exact))
