"""Shares: the chance of each arm to be played, exactly by quadrature where arms are independent.

p_k is the integral of f_k times the product of all other F_j. Each arm says between which points its density is smooth;
between any two neighbours of all these points the integrand is, and Gauss's rule is exact to rounding. Distribution
functions come from the densities by the same rule, so that no special function is needed.

    >>> from tsgrad_runtime.laws import NormalLaw
    >>> print(product_shares(NormalLaw(np.array([0.0, 1.0]), np.ones(2)), None).round(6))  # Phi(-1 / sqrt 2)
    [0.23975 0.76025]
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.laws import NARROWEST, Law, ProductLaw

NODES = 10
DRAWS = 4096  # of shares by sampling
_NEAR = 0.5  # of the distance between two breaks of an arm: there, another arm's break serves as well
_APART = 4  # float64 numbers, at least, from one break of an arm to the next
_LEAST_LOG_DENSITY = -1e300  # far out it may be infinite, and differences of infinities are no numbers


def product_shares(law: ProductLaw, available: Any) -> FloatArray:
    """The chance of each available arm to have the largest order, [K]; right to 1e-6, mostly to 1e-9.

    Whatever the law is, they are chances: an arm narrower than float64 numbers lie apart is as wide as a few of them,
    and arms of which nothing can be computed share alike.
    """
    with np.errstate(all="ignore"):
        breaks = _apart(law.breaks())
        shares = np.zeros(breaks.shape[1])
        arms = np.arange(breaks.shape[1]) if available is None else np.flatnonzero(available)
        low = np.max(breaks[0, arms])  # below, some arm surely has more
        arms = arms[~(breaks[-1, arms] <= low)]
        found = np.ones(1) if arms.size == 1 else _integrated(law, arms, _marks(breaks[:, arms]), low)
    shares[arms] = found if np.all(np.isfinite(found)) else 1 / arms.size
    return shares


def _apart(breaks: FloatArray) -> FloatArray:
    """Breaks [n, K] that are different float64 numbers; most are so anyway."""
    middle = len(breaks) // 2
    least = _APART * np.spacing(np.maximum(np.abs(breaks[middle]), NARROWEST)) * np.arange(1, middle + 1)[:, None]
    above = np.maximum(breaks[middle + 1 :], breaks[middle] + least)
    below = np.minimum(breaks[:middle], breaks[middle] - least[::-1])
    return np.concatenate([below, breaks[middle : middle + 1], above])


def _marks(breaks: FloatArray) -> FloatArray:
    """The breaks of all arms, upwards, but for those with another one nearby, for how far apart their arm has them."""
    spacing = np.diff(breaks, axis=0)
    near = _NEAR * np.minimum(np.concatenate([spacing[:1], spacing]), np.concatenate([spacing, spacing[-1:]]))
    order = np.argsort(breaks, axis=None)
    points, room = breaks.ravel()[order].tolist(), near.ravel()[order].tolist()
    kept = points[:1]
    for point, least in zip(points[1:-1], room[1:-1], strict=True):
        if point - kept[-1] >= least:
            kept.append(point)
    return np.array([*kept, points[-1]])


def _integrated(law: ProductLaw, arms: Any, marks: FloatArray, low: float) -> FloatArray:
    half = (marks[1:] - marks[:-1]) / 2
    nodes = (marks[1:] + marks[:-1]) / 2 + half * _POINTS[:, None]  # [node, panel]
    log_density = np.maximum(law.log_density(nodes.ravel())[:, arms], _LEAST_LOG_DENSITY)
    density = np.exp(log_density - np.max(log_density, axis=0))
    size = (NODES, len(half), len(arms))
    mass = half[:, None] * (_WEIGHTS @ density.reshape(NODES, -1)).reshape(size[1:])
    total = np.sum(mass, axis=0)
    before = np.cumsum(mass, axis=0) - mass
    within = half[:, None] * (_ANTIDERIVATIVE @ density.reshape(NODES, -1)).reshape(size)
    # From the panel on in which some arm surely has more; arms last, so that products run over them.
    kept = slice(max(int(np.searchsorted(marks, low)) - 1, 0), None)
    below = np.clip((before + within)[:, kept] / total, 0.0, 1.0)
    leading = np.ones_like(below)
    np.cumprod(below[..., :-1], axis=-1, out=leading[..., 1:])
    leading[..., :-1] *= np.cumprod(below[..., :0:-1], axis=-1)[..., ::-1]
    weight = (half[kept] * _WEIGHTS[:, None])[..., None] * density.reshape(size)[:, kept] / total
    shares = np.sum(weight * leading, axis=(0, 1))
    return np.asarray(shares / np.sum(shares))


def log_tail_chances(law: ProductLaw, points: FloatArray) -> FloatArray:
    """Logarithms of the chances of each arm to have an order below, and above, a point of its own: [2, K] from [K].

    Beyond all panels, at most: a log-density f that falls ever faster has a tail of at most exp(f) / |f'|.

    >>> from tsgrad_runtime.laws import NormalLaw
    >>> print(np.exp(log_tail_chances(NormalLaw(np.zeros(2), np.ones(2)), np.array([-3.0, 1.0]))).round(6))
    [[0.00135  0.841345]
     [0.99865  0.158655]]
    """
    with np.errstate(all="ignore"):
        breaks = _apart(law.breaks())
        largest = law.log_density(breaks[len(breaks) // 2])[0]
        mass = []
        for ends in (np.minimum(breaks, points), np.maximum(breaks, points)):
            half = (ends[1:] - ends[:-1]) / 2  # [panel, K]
            nodes = (ends[1:] + ends[:-1]) / 2 + half * _POINTS[:, None, None]
            flat = nodes.reshape(-1, nodes.shape[-1])
            density = np.exp(law.log_density(flat)[:, 0] - largest)
            mass.append(np.sum(_WEIGHTS[:, None, None] * half * density.reshape(nodes.shape), axis=(0, 1)))
        found, total = np.stack(mass), np.sum(mass, axis=0)
        step = 1e-6 * (breaks[-1] - breaks[0])
        before, at, after = law.log_density(points + step * np.array([[-1.0], [0.0], [1.0]]))[:, 0] - largest
        slope = np.abs(after - before) / (2 * step)
        return np.asarray(np.where(found > 0, np.log(found / total), at - np.log(slope * total)))


def sampled_shares(law: Law, available: Any, generator: np.random.Generator) -> FloatArray:
    """The same by drawing, for arms that are not independent: each with the standard error sqrt(p (1 - p) / DRAWS)."""
    return _largest_shares(law.many(generator, DRAWS), available)


def shares_by_mask(law: Law, generator: np.random.Generator) -> Callable[[Any], FloatArray]:
    """The chance of each arm to have the largest order, as a function of which are available: all by the same draws,
    where it takes draws.
    """
    if isinstance(law, ProductLaw):
        return functools.partial(product_shares, law)
    return functools.partial(_largest_shares, law.many(generator, DRAWS))


def _largest_shares(orders: FloatArray, available: Any) -> FloatArray:
    offered = orders if available is None else np.where(available, orders, -np.inf)
    return counted_shares(np.argmax(offered, axis=1), available, orders.shape[1])


def counted_shares(chosen: Any, available: Any, arms: int) -> FloatArray:
    """The chances of arms, [K], from those that were chosen in independent draws, [draw].

    One more draw, shared by the arms that are available, keeps the chance of an arm that was played from being zero:
    who weighs decisions divides by it.

    >>> print(counted_shares([0, 0, 2], np.array([True, True, True, False]), 4))
    [0.58333333 0.08333333 0.33333333 0.        ]
    """
    there = np.ones(arms, bool) if available is None else available
    return np.asarray((np.bincount(chosen, minlength=arms) + there / np.sum(there)) / (len(chosen) + 1))


def _rule() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gauss's points and weights on [-1, 1], and the matrix that integrates from -1 to each of the points."""
    points, weights = np.polynomial.legendre.leggauss(NODES)
    vander = np.polynomial.legendre.legvander(points, NODES)
    coefficients = np.linalg.inv(vander[:, :NODES])  # from values to a Legendre series
    integral = np.empty((NODES, NODES))
    for order in range(NODES):
        series = np.polynomial.legendre.legint(np.eye(NODES)[order], lbnd=-1)
        integral[:, order] = vander @ series
    return points, weights, integral @ coefficients


_POINTS, _WEIGHTS, _ANTIDERIVATIVE = _rule()
