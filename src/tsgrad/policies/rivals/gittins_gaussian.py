"""Finite-horizon Gittins indices of a Gaussian arm, by dynamic programming over one arm against a known one.

In units of the noise, an arm with posterior N(m, 1/precision) and d pulls left, against one that always pays nothing:

    V_d(m, n) = max(0, C_d(m, n)),    C_d(m, n) = m + E V_{d-1}(m + step * Z, n + 1),    C_1(m, n) = m,

with step^2 the variance that one pull resolves. The bonus b(n, d) is where C_d(-b, n) = 0: an arm with mean m is worth
as much as one known to pay m + b. Above its root C_d is smooth and tends to d * m, so that it is kept there as d * m
plus a Chebyshev series, and integrated from the root upwards: the kink of V never comes between two nodes.
"""

from typing import NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray

_REACH = 8.0  # standard deviations of all that is still to be learnt; so far above the root, stopping is worth nothing
_TERMS = 24  # of the series
_NODES = 24  # of the integral over Z
_TAIL = 6.0  # standard deviations of Z that are integrated over
_NEWTON_STEPS = 50
_CHUNK = 64  # pulls at a time, so that arrays stay in cache


class _Arms(NamedTuple):
    """Arms with n = 0, 1, ... pulls and as many decisions left. Axes: [n] first."""

    root: FloatArray  # of C
    span: FloatArray  # how far above the root the series reaches
    series: FloatArray  # of C minus its asymptote, [n, terms]

    def part(self, start: int, stop: int) -> "_Arms":
        return _Arms(*(field[start:stop] for field in self))


def gaussian_bonuses(precision_ratio: float, horizon: int) -> FloatArray:
    """b[n, d - 1] in units of the noise, for n pulls and d decisions left, n + d <= horizon; zero elsewhere.

    `precision_ratio` is the prior variance over the noise variance.

        >>> print(gaussian_bonuses(1.0, 3).round(6))
        [[0.       0.195183 0.321907]
         [0.       0.112689 0.      ]
         [0.       0.       0.      ]]
    """
    bonuses = np.zeros((horizon, horizon))
    variance = 1 / (1 / precision_ratio + np.arange(horizon))
    step = np.sqrt(variance[:-1] - variance[1:])
    arms = _Arms(np.zeros(horizon), np.ones(horizon), np.zeros((horizon, _TERMS)))
    for left in range(2, horizon + 1):
        count = horizon - left + 1  # n from 0 to horizon - left
        span = _REACH * np.sqrt(variance[:count] - variance[left - 1 : left - 1 + count])
        chunks = [
            _one_more_decision(
                arms.root[start:stop], arms.part(start + 1, stop + 1), left, step[start:stop], span[start:stop]
            )
            for start in range(0, count, _CHUNK)
            for stop in [min(start + _CHUNK, count)]
        ]
        arms = _Arms(*(np.concatenate(fields) for fields in zip(*chunks, strict=True)))
        bonuses[:count, left - 1] = -arms.root
    return bonuses


_LEGENDRE, _WEIGHT = np.polynomial.legendre.leggauss(_NODES)
_ANGLES = np.pi * (np.arange(_TERMS) + 0.5) / _TERMS
_TO_SERIES = np.cos(np.outer(_ANGLES, np.arange(_TERMS))) * np.where(np.arange(_TERMS), 2, 1) / _TERMS


def _one_more_decision(start: FloatArray, later: _Arms, left: int, step: FloatArray, span: FloatArray) -> _Arms:
    """Arms with `left` decisions left, from those with one pull more and one decision fewer.

    Newton's method starts where C is positive; C is convex, so that no step overshoots.
    """
    root = start[:, None]
    for _ in range(_NEWTON_STEPS):
        value, slope = _continuation(root, later, left, step)
        moved = root - value / slope
        settled = np.max(np.abs(moved - root)) < 1e-13 * np.max(span)
        root = moved
        if settled:
            break
    nodes = root + span[:, None] * (1 + np.cos(_ANGLES)) / 2
    excess = _continuation(nodes, later, left, step)[0] - left * nodes
    return _Arms(root[:, 0], span, excess @ _TO_SERIES)


def _continuation(m: FloatArray, later: _Arms, left: int, step: FloatArray) -> tuple[FloatArray, FloatArray]:
    """C(m, n) and its slope in m, at m [n, points]."""
    step, floor, span = step[:, None, None], later.root[:, None, None], later.span[:, None, None]
    m = m[..., None]
    lowest = np.clip((floor - m) / step, -_TAIL, _TAIL)
    half = (_TAIL - lowest) / 2
    z = lowest + half * (1 + _LEGENDRE)
    mean = m + step * z
    value = _series_at(later.series, np.minimum(2 * (mean - floor) / span - 1, 1.0))
    value += (left - 1) * mean
    value *= half * _WEIGHT * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    slope = 1 + np.sum(value * z, axis=-1) / step[..., 0]
    return m[..., 0] + np.sum(value, axis=-1), slope


def _series_at(series: FloatArray, x: FloatArray) -> FloatArray:
    """Chebyshev series [n, terms] at x [n, points, nodes], by Clenshaw's recurrence in place."""
    coefficients = series.T[:, :, None, None]
    twice = 2 * x
    last, before, spare = np.zeros_like(x), np.zeros_like(x), np.empty_like(x)
    for coefficient in coefficients[:0:-1]:
        np.multiply(twice, last, out=spare)
        np.subtract(spare, before, out=before)
        before += coefficient
        last, before = before, last
    np.multiply(x, last, out=spare)
    spare -= before
    spare += coefficients[0]
    return spare
