"""Where a marginal likelihood is largest, how sharply, and how far it reaches."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput
from tsgrad.live.families import Family, Units

Z = 1.959964  # of 95% intervals
_FARTHEST = 64.0  # logarithms by which a prior may be too weak or too strong


class Found(NamedTuple):
    """A fit to units: free coordinates with their covariance, and the largest log-likelihood.

    That is theirs, unless the data can't tell how much arms differ. Then they are those of the weakest prior that the
    data allow, and `strongest` those of the strongest.
    """

    law: Family
    units: Units
    free: FloatArray
    covariance: FloatArray
    most_likely: float
    strongest: FloatArray | None = None


def best(law: Family, units: Units) -> Found:
    """The fit; where the data can't tell how much arms differ, with the weakest prior that they allow."""
    free, most_likely = maximum(law, units)
    loss = loss_of(law, units)
    covariance, bad = _covariance(loss, free)
    if not (bad or covariance[1, 1] > 1):
        return Found(law, units, free, covariance, most_likely)
    profile = Profile(loss, free)
    weakest, strongest = profile.edge(law.weaker), profile.edge(-law.weaker)
    if np.isinf(weakest[1]):
        raise BadInput(
            "log must tell how much arms differ, and no prior is too weak for it: it needs arms with two rewards or"
            " more, some of which pay neither always nor never"
        )
    covariance = _covariance(loss, weakest)[0]
    covariance[1, 1] = max(covariance[1, 1], 1.0)
    return Found(law, units, weakest, covariance, most_likely, strongest)


def maximum(law: Family, units: Units) -> tuple[FloatArray, float]:
    """Where the likelihood is largest, and its logarithm there."""
    free, loss = _least(loss_of(law, units), law.start(units))
    return free, -loss


def _least(loss: Callable[[FloatArray], float], start: FloatArray) -> tuple[FloatArray, float]:
    """Where a loss is least, by Nelder and Mead, and what it is there."""
    from scipy import optimize

    # First steps of a tenth: SciPy's are a twentieth of a coordinate, and next to none for one that is next to zero.
    simplex = start + np.concatenate([np.zeros((1, len(start))), 0.1 * np.eye(len(start))])
    options = {"xatol": 1e-7, "fatol": 1e-9, "maxiter": 4000, "initial_simplex": simplex}
    found = optimize.minimize(loss, start, method="Nelder-Mead", options=options)
    return np.asarray(found.x, np.float64), float(found.fun)


def loss_of(law: Family, units: Units) -> Callable[[FloatArray], float]:
    """Minus the log-likelihood, as a function of free coordinates."""

    def loss(free: FloatArray) -> float:
        # A search tries priors that are beyond reckoning, too: what comes of them is not a number, and no warning.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            value = -law.log_likelihood(free, units)
        return value if np.isfinite(value) else 1e300

    return loss


def _covariance(loss: Any, free: FloatArray) -> tuple[FloatArray, bool]:
    """The inverse of the loss's second derivative, by differences; whether there was none, and it is made up."""
    size, step = len(free), 1e-3 * np.maximum(1.0, np.abs(free)) * 0.5
    hessian = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            moves = [np.eye(size)[i] * step[i] * a + np.eye(size)[j] * step[j] * b for a in (1, -1) for b in (1, -1)]
            plus, mixed, mixed_too, minus = (loss(free + move) for move in moves)
            hessian[i, j] = (plus - mixed - mixed_too + minus) / (4 * step[i] * step[j])
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    flat = values < 1e-3
    bounded = np.where(flat, 0.1, values)  # a direction that the data say nothing about: give or take a factor of 20
    return np.asarray(vectors @ np.diag(1 / bounded) @ vectors.T), bool(np.any(flat))


class Profile:
    """The likelihood as a function of the second free coordinate, with the others at their best."""

    def __init__(self, loss: Callable[[FloatArray], float], free: FloatArray) -> None:
        self._loss, self._free = loss, free

    def at(self, second: float) -> tuple[float, FloatArray]:
        """The loss there, and all coordinates."""

        def rest(others: FloatArray) -> float:
            return self._loss(np.insert(others, 1, second))

        others, loss = _least(rest, np.delete(self._free, 1))
        return loss, np.insert(others, 1, second)

    def reach(self, side: float) -> float:
        """How far to one side the likelihood ratio against the best is what 95% of logs would have; infinite, where it
        is wherever one looks.
        """
        from scipy import optimize

        allowed = self._loss(self._free) + Z**2 / 2
        step = 1.0
        while self.at(self._free[1] + side * step)[0] < allowed:
            step *= 2
            if step > _FARTHEST:
                return np.inf
        edge = optimize.brentq(lambda far: self.at(self._free[1] + side * far)[0] - allowed, 0.0, step, xtol=1e-4)
        return float(edge)

    def edge(self, side: float) -> FloatArray:
        """All coordinates where that is; the second is infinite, where the data allow any."""
        reach = self.reach(side)
        if np.isinf(reach):
            return np.insert(np.delete(self._free, 1), 1, side * np.inf)
        return self.at(self._free[1] + side * reach)[1]
