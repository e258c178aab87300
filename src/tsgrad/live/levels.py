"""Levels of experiments, integrated out: each is normal, and shared by the arms of its experiment.

A level that is known well is a peak a thousandth as wide as levels differ, or less: nodes that don't know where it is
make a comb of the likelihood, and a search moves parameters until the comb's teeth fall on the data.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from tsgrad.arrays import FloatArray
from tsgrad.live.families import ArmFamily, Normal, Units

_NODES = np.linspace(-1.0, 1.0, 57)
_REACH = 7.0  # standard deviations of levels to either side of a peak: its likelihood only makes it narrower
_STEP = 1e-3  # of log-odds or logarithms, on whose scale likelihoods are smooth however large their counts
_FARTHEST = 1e3  # standard deviations from the middle that a level is looked for
_SEARCH = 60  # steps, most of which are spent where a likelihood is no parabola; as a rule, five are


class Levels(NamedTuple):
    """What is known of the levels of experiments, [E] each: the log-likelihood with a level integrated out, and the
    posterior mean of the level's distance from the middle.
    """

    log_likelihood: FloatArray
    mean: FloatArray


class Experiments:
    """Which units are of which experiment: sums over them, and values for each of them."""

    def __init__(self, units: Units) -> None:
        _, self.of_unit, count = np.unique(units.experiment, return_inverse=True, return_counts=True)
        self._order = np.argsort(self.of_unit, kind="stable")
        self._starts = np.cumsum(count) - count

    def summed(self, of_units: FloatArray) -> FloatArray:
        """[..., E] of [..., n]."""
        return np.asarray(np.add.reduceat(of_units[..., self._order], self._starts, axis=-1))


def integrated(law: ArmFamily, free: FloatArray, spread: float, units: Units) -> Levels:
    """Levels with standard deviation `spread` of the first free coordinate, integrated out."""
    experiments = Experiments(units)
    if isinstance(law, Normal):
        return _exact(law, free, spread, units, experiments)
    return _by_quadrature(law, free, spread, units, experiments)


def _exact(law: Normal, free: FloatArray, spread: float, units: Units, experiments: Experiments) -> Levels:
    """The likelihood of a level is normal around the experiment's weighted average, and so is its prior."""
    mean, std, noise = law.parameters(free)
    weight = 1 / (std**2 + noise**2 / units.pulls)
    precision = experiments.summed(weight)
    best = experiments.summed(weight * (units.average - mean)) / precision
    variance = spread**2 + 1 / precision
    at_best = experiments.summed(law.unit_log_likelihoods(_moved(free, best[experiments.of_unit]), units))
    return Levels(at_best - 0.5 * (np.log(precision * variance) + best**2 / variance), best * spread**2 / variance)


def _by_quadrature(law: ArmFamily, free: FloatArray, spread: float, units: Units, experiments: Experiments) -> Levels:
    """The trapezoidal rule, on nodes that are dense on the scale of each level's peak and reach into its tails.

    Gauss and Hermite's nodes are right for peaks that are normal. That of an experiment without a success is a step,
    half of the prior of its level: hence steps that grow with the distance from the peak, z = mode + width sinh(u).
    """

    def log_density(z: FloatArray) -> FloatArray:
        """[..., E], of levels in standard deviations, up to a constant."""
        of_units = law.unit_log_likelihoods(_moved(free, spread * z[..., experiments.of_unit]), units)
        return np.asarray(experiments.summed(of_units) - 0.5 * z**2)

    def levels_of(averages: FloatArray) -> FloatArray:
        return np.asarray(np.clip((law.location(averages) - free[0]) / spread, -_FARTHEST, _FARTHEST))

    pooled = levels_of(experiments.summed(units.total) / experiments.summed(units.pulls))
    each = levels_of(units.average)
    # A level lies between that of the prior, zero, and those that some arm would have by itself.
    within = min(0.0, float(np.min(each))) - 1, max(0.0, float(np.max(each))) + 1
    mode, width = _peak(log_density, pooled, within, _STEP / max(spread, 1.0))
    ends = np.arcsinh(_REACH / width)
    z = mode + width * np.sinh(_NODES[:, None] * ends)
    step = (_NODES[1] - _NODES[0]) * ends * width * np.cosh(_NODES[:, None] * ends)
    terms = log_density(z) + np.log(step) - 0.5 * np.log(2 * np.pi)
    whole = special.logsumexp(terms, axis=0)
    return Levels(np.asarray(whole), spread * np.sum(z * np.exp(terms - whole), axis=0))


def _peak(
    log_density: Any, start: FloatArray, within: tuple[float, float], step: float
) -> tuple[FloatArray, FloatArray]:
    """Mode and width of each density, [E]: Newton's steps, within an interval that halves where they lead out of it.

    Derivatives are differences over `step`. The mode is found to a thousandth of the width, so that nodes, and what
    little the integral is off by, move smoothly with the parameters.
    """
    offsets = np.array([-1.0, 0.0, 1.0])[:, None] * step
    low, high = (np.full_like(start, end) for end in within)
    mode = start
    width = np.ones_like(start)
    for _ in range(_SEARCH):
        below, at, above = log_density(mode + offsets)
        slope, curvature = (above - below) / (2 * step), (2 * at - above - below) / step**2
        low, high = np.where(slope > 0, mode, low), np.where(slope > 0, high, mode)
        width = 1 / np.sqrt(np.maximum(curvature, 1.0))  # no wider than the prior of levels
        newton = mode + slope / np.maximum(curvature, 1e-3)
        following = np.where((newton > low) & (newton < high) & (curvature > 0), newton, (low + high) / 2)
        done = np.abs(following - mode) < 1e-3 * width
        mode = following
        if np.all(done):
            break
    return mode, width


def _moved(free: FloatArray, by: FloatArray) -> FloatArray:
    """Free coordinates [..., n, F] of units whose first is moved by so much, [..., n]."""
    own = np.broadcast_to(free, (*by.shape, len(free))).copy()
    own[..., 0] += by
    return own
