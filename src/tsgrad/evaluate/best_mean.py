"""The expected largest mean of independent arms, exactly, where the law of each is known."""

from collections.abc import Callable

import numpy as np

from tsgrad.checks import FloatArray
from tsgrad.problems import BernoulliBandit, GaussianBandit, Problem

_NEGLIGIBLE = 9.0  # standard deviations: beyond, a normal variable is once in 10^19 draws


def expected_best_mean(problem: Problem, pulls: int | None = None) -> float | None:
    """E max_k of the arms' true means; with `pulls`, of their posterior means after so many pulls of every arm.

    By quadrature for Gaussian arms and beta priors, by a finite sum for the posterior means of Bernoulli arms; None
    where the laws are not known.

        >>> f"{expected_best_mean(GaussianBandit(arms=2)):.6f}"  # 1 / sqrt(pi)
        '0.564190'
        >>> f"{expected_best_mean(BernoulliBandit(arms=2)):.6f}"
        '0.666667'
        >>> expected_best_mean(BernoulliBandit(alpha=[1, 3], arms=2), pulls=0)
        0.75
    """
    if isinstance(problem, GaussianBandit):
        ratio = problem.precision_ratio
        known = 1.0 if pulls is None else ratio * pulls / (1 + ratio * pulls)
        return _normal(problem.prior_mean, problem.prior_std * np.sqrt(known))
    if isinstance(problem, BernoulliBandit):
        return _beta(problem) if pulls is None else _beta_binomial(problem, pulls)
    return None


def prior_strength(problem: Problem) -> FloatArray:
    """How many rewards each arm's prior is worth, [K]: after n of them it still has weight strength / (strength + n).

    >>> print(prior_strength(GaussianBandit(noise_std=[1, 2])), prior_strength(BernoulliBandit(alpha=[1, 5])))
    [1. 4.] [2. 6.]
    """
    if isinstance(problem, GaussianBandit):
        return np.asarray(1 / problem.precision_ratio)
    assert isinstance(problem, BernoulliBandit)
    return np.asarray(problem.alpha + problem.beta)


def _normal(mean: FloatArray, deviation: FloatArray) -> float:
    from scipy.special import ndtr

    if not np.any(deviation):
        return float(np.max(mean))
    reach = _NEGLIGIBLE * deviation
    marks = np.concatenate([mean, mean - deviation, mean + deviation])
    return _largest(
        lambda x: float(np.prod(ndtr((x - mean) / deviation))), np.max(mean - reach), np.max(mean + reach), marks
    )


def _beta(problem: BernoulliBandit) -> float:
    from scipy.special import betainc

    alpha, beta = problem.alpha, problem.beta
    mean = alpha / (alpha + beta)
    deviation = np.sqrt(mean * (1 - mean) / (alpha + beta + 1))
    marks = np.concatenate([mean, mean - deviation, mean + deviation])
    return _largest(lambda x: float(np.prod(betainc(alpha, beta, x))), 0.0, 1.0, marks)


def _largest(cdf: Callable[[float], float], low: float, high: float, marks: FloatArray) -> float:
    """The mean of a variable in [low, high]: high less the integral of its cdf, which bends at `marks`."""
    from scipy.integrate import quad

    inside = np.unique(marks[(marks > low) & (marks < high)])
    area, _ = quad(
        cdf, low, high, points=inside, limit=100 + 10 * len(inside), epsabs=1e-11 * (high - low), epsrel=1e-11
    )
    return float(high - area)


def _beta_binomial(problem: BernoulliBandit, pulls: int) -> float:
    """Successes s of n pulls are beta-binomial, and lead to the posterior mean (alpha + s) / (alpha + beta + n)."""
    from scipy.special import betaln

    successes = np.arange(pulls + 1.0)
    alpha, beta = problem.alpha[:, None], problem.beta[:, None]
    log_choose = -np.log(pulls + 1) - betaln(successes + 1, pulls - successes + 1)
    weight = np.exp(log_choose + betaln(alpha + successes, beta + pulls - successes) - betaln(alpha, beta))
    values = (alpha + successes) / (alpha + beta + pulls)
    grid = np.unique(values)
    below = [
        np.append(0.0, np.cumsum(arm_weight))[np.searchsorted(arm_values, grid, side="right")]
        for arm_values, arm_weight in zip(values, weight, strict=True)
    ]
    cdf = np.prod(below, axis=0)
    return float(np.sum(grid * np.diff(cdf, prepend=0.0)))
