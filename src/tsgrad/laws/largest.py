"""The expected largest of independent variables, exactly, where the law of each is known."""

import itertools
from collections.abc import Callable

import numpy as np

from tsgrad.arrays import FloatArray

# Quadrature must be told where a cdf bends, however narrow an arm's law is against another's: at these standard
# deviations, beyond the last of which a normal variable is once in 10^19 draws, and at these tail probabilities.
_DEVIATIONS = np.array([0.0, 1.0, 3.0, 9.0])
_TAILS = np.array([1e-15, 1e-9, 1e-5, 1e-2, 0.2, 0.5])
_NODES = 32


def largest_normal(mean: FloatArray, deviation: FloatArray) -> float:
    """The expected largest of independent normal variables: any upper limit less the integral of its cdf up to there.

    >>> f"{largest_normal(np.zeros(2), np.ones(2)):.6f}"  # 1 / sqrt(pi)
    '0.564190'
    """
    from scipy.special import ndtr

    if not np.any(deviation):
        return float(np.max(mean))
    steps = np.multiply.outer(_DEVIATIONS, deviation)
    below, above = mean - steps, mean + steps
    low, high = np.max(below[-1]), np.max(above[-1])
    bends = np.concatenate([below, above])
    return float(high - _integral(lambda x: np.prod(ndtr((x[:, None] - mean) / deviation), axis=1), low, high, bends))


def largest_beta(alpha: FloatArray, beta: FloatArray) -> float:
    """The expected largest of independent beta variables.

    Integrated over x = expit(y): near 0 and 1 their cdfs are like powers of x, which are smooth in y alone.

        >>> f"{largest_beta(np.ones(2), np.ones(2)):.6f}"
        '0.666667'
    """
    from scipy.special import betainc, betainccinv, betaincinv, expit, logit

    tails = _TAILS[:, None]
    quantiles = np.concatenate([betaincinv(alpha, beta, tails), betainccinv(alpha, beta, tails)])
    edge = 40.0  # what lies beyond has length 10^-17 in x
    bends = np.concatenate([logit(quantiles[(quantiles > 0) & (quantiles < 1)]), np.linspace(-edge, edge, 21)])

    def integrand(y: FloatArray) -> FloatArray:
        return np.asarray(np.prod(betainc(alpha, beta, expit(y[:, None])), axis=1) * expit(y) * expit(-y))

    return 1.0 - _integral(integrand, -edge, edge, bends)


def _integral(function: Callable[[FloatArray], FloatArray], low: float, high: float, bends: FloatArray) -> float:
    """By Gauss's rule from bend to bend; between them the function is smooth, however narrow its steps are."""
    from scipy.integrate import fixed_quad

    marks = np.unique(np.concatenate([[low], bends[(bends > low) & (bends < high)], [high]]))
    return float(sum(fixed_quad(function, *piece, n=_NODES)[0] for piece in itertools.pairwise(marks)))


def largest_beta_mean(alpha: FloatArray, beta: FloatArray, pulls: int) -> float:
    """The expected largest posterior mean of independent Bernoulli arms after so many pulls of each, by a finite sum.

    Successes s of n pulls are beta-binomial, and lead to the posterior mean (alpha + s) / (alpha + beta + n).

        >>> largest_beta_mean(np.array([1.0, 3.0]), np.ones(2), pulls=0)
        0.75
    """
    successes = np.arange(pulls + 1.0)
    alpha, beta = alpha[:, None], beta[:, None]
    # From one number of successes to the next: with strong priors, a difference of log beta functions has no digits.
    fewer = successes[:-1]
    ratio = (pulls - fewer) * (alpha + fewer) / ((fewer + 1) * (beta + pulls - fewer - 1))
    log_weight = np.concatenate([np.zeros_like(alpha), np.cumsum(np.log(ratio), axis=1)], axis=1)
    weight = np.exp(log_weight - np.max(log_weight, axis=1, keepdims=True))
    weight /= np.sum(weight, axis=1, keepdims=True)
    values = (alpha + successes) / (alpha + beta + pulls)
    grid = np.unique(values)
    below = [
        np.append(0.0, np.cumsum(arm_weight))[np.searchsorted(arm_values, grid, side="right")]
        for arm_values, arm_weight in zip(values, weight, strict=True)
    ]
    cdf = np.prod(below, axis=0)
    return float(np.sum(grid * np.diff(cdf, prepend=0.0)))
