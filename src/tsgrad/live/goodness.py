"""Whether arms are what a family of priors predicts: a test whose chances are counted on logs drawn from the fit."""

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.live.families import Family, Units
from tsgrad.live.likelihood import loss_of

MOST_UNITS = 1000  # that are tested: what these can't tell is no reason to doubt a prior
LOGS = 99  # drawn from the fit: with the log itself they are 100, so that p-values are whole percents
_FARTHEST = 8.0  # standard errors, or logarithms, that a fit may move by: beyond, predictions change no more


def fit_p_value(law: Family, free: FloatArray, covariance: FloatArray, units: Units) -> float:
    """The share of logs, this one among them, that lie as far from what their own best prior predicts, or farther.

    How far is the Kolmogorov-Smirnov distance of ranks (of the arms' totals in their predictive laws) from uniform
    ones. A prior that was fitted to the same totals is near them whether it is right or not, so that the usual table of
    that distance would find hardly any prior wrong. Hence a parametric bootstrap: `LOGS` logs of the same arms and
    pulls are drawn from the fit, fitted and measured in the same way. Of more than `MOST_UNITS` arms, as many are taken
    at random. The seed is fixed: p is a function of the log.

    Args:
        law: the family.
        free: coordinates of the fit.
        covariance: of them: how far the fits of other logs will lie.
        units: the log.

    """
    generator = np.random.default_rng(0)
    scale = np.asarray(np.linalg.cholesky(covariance), np.float64)
    if (count := len(units.pulls)) > MOST_UNITS:
        units = units.some(np.sort(generator.choice(count, MOST_UNITS, replace=False)))
        scale = scale * np.sqrt(count / MOST_UNITS)  # so much farther lie the fits of fewer
    best = refitted(law, free, scale, units)
    own = _distance(law, best, units, generator)
    as_far = 0
    for _ in range(LOGS):
        drawn = law.simulated(best, units, generator)
        as_far += _distance(law, refitted(law, best, scale, drawn), drawn, generator) >= own
    return (1 + as_far) / (1 + LOGS)


def refitted(law: Family, start: FloatArray, scale: FloatArray, units: Units) -> FloatArray:
    """Where the likelihood of a log is largest, to some hundredths of a standard error; near where it was drawn from.

    In coordinates in which the likelihood is near a round parabola, `start` + `scale` @ moved, few steps are needed.
    """
    from scipy import optimize

    loss = loss_of(law, units)

    def loss_there(moved: FloatArray) -> float:
        return loss(start + scale @ moved)

    size = len(start)
    reach = np.full(size, _FARTHEST / max(1.0, float(np.linalg.norm(scale[1]))))
    options = {"eps": 1e-4, "gtol": 0.02, "ftol": 1e-12}
    bounds = optimize.Bounds(-reach, reach)
    found = optimize.minimize(loss_there, np.zeros(size), method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(start + scale @ found.x, np.float64)


def _distance(law: Family, free: FloatArray, units: Units, generator: np.random.Generator) -> float:
    """Of Kolmogorov and Smirnov: the largest between ranks and uniform ones."""
    ranks = np.sort(broken_ties(*law.predictive(free, units), generator))
    steps = np.arange(len(ranks) + 1) / len(ranks)
    return float(max(np.max(steps[1:] - ranks), np.max(ranks - steps[:-1])))


def broken_ties(below: FloatArray, at_most: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Ranks of counts, anywhere between the chances of less and of no more: uniform, where the prior is right."""
    return np.asarray(below + generator.random(len(below)) * (at_most - below))
