"""Finite-horizon Gittins indices of a Bernoulli arm, by dynamic programming over one arm against a known one.

Against an arm that always pays `price`, an arm with posterior mean m and d pulls left is worth max(0, C_d) more, with

    C_d = m - price + m max(0, C_{d-1} after a success) + (1 - m) max(0, C_{d-1} after a failure),    C_1 = m - price.

Its index is the price at which C_d = 0. Every state is valued at prices a grid apart; between two of them C_d, convex
and piecewise linear in the price, is taken as the larger of the lines through its neighbours on either side, which is
exact unless two kinks fall there. Half of the prices lie where the prior does, however narrow it is; they don't
depend on the horizon, so that a longer table holds a shorter one.
"""

from typing import Any

import numpy as np

from tsgrad.arrays import FloatArray

_PRICES = 768
_NARROW = 1 / 2  # of the prices are within so many standard deviations of the prior's mean
_REACH = 4.0
_TOGETHER = 32  # prices between which indices are looked for at a time; the three at their ends are valued twice


def bernoulli_indices(alpha: float, beta: float, horizon: int) -> FloatArray:
    """index[d - 1, successes, failures] with d decisions left, where successes + failures + d <= horizon; else zero.

    >>> print(bernoulli_indices(1.0, 1.0, 2).round(6))
    [[[0.5      0.333333]
      [0.666667 0.      ]]
    <BLANKLINE>
     [[0.555556 0.      ]
      [0.       0.      ]]]
    """
    count = np.arange(horizon)
    a, b = (alpha + count)[:, None], (beta + count)[None, :]
    mean = a / (a + b)
    indices = np.tile(mean, (horizon, 1, 1))  # also where a prior is so strong that nothing can be learnt
    prices, ahead, behind = _prices(alpha, beta), *np.empty((2, _TOGETHER + 3, horizon, horizon), np.float32)
    single = mean.astype(np.float32)  # half the memory to pass through, and an error of 1e-7
    for first in range(0, _PRICES, _TOGETHER):
        chunk = prices[max(first - 1, 0) : first + _TOGETHER + 2, None, None].astype(np.float32)
        lowest, highest = min(first, 1), min(first, 1) + min(_TOGETHER, _PRICES - first)
        excess = np.subtract(single, chunk, out=ahead[: len(chunk)])
        for left in range(2, horizon + 1):
            worth, size = np.maximum(excess, 0.0, out=excess), horizon - left + 1
            after_success, after_failure = worth[:, 1:, :size], worth[:, :size, 1:]
            # after_failure + m (1 + after_success - after_failure) - price
            excess = np.subtract(after_success, after_failure, out=behind[: len(chunk), :size, :size])
            excess += 1
            excess *= single[:size, :size]
            excess += after_failure
            excess -= chunk
            ahead, behind = behind, ahead
            crossing = (excess[lowest] > 0) & (excess[highest] <= 0)
            indices[left - 1, :size, :size][crossing] = _roots(
                chunk[:, 0, 0].astype(float), excess[:, crossing].T.astype(float)
            )
    decisions = np.arange(1, horizon + 1)[:, None, None]
    return np.where(count[:, None] + count + decisions <= horizon, indices, 0.0)


def _prices(alpha: float, beta: float) -> FloatArray:
    """From 0 to 1, densest where the prior is: evenly in the angle arcsin sqrt(price), in which laws are equally wide.

    >>> prices = _prices(1000.0, 3000.0)
    >>> len(prices), float(np.diff(prices).max()) < 2.8e-3, float(np.diff(prices).min()) < 2e-4
    (769, True, True)
    """
    centre, width = np.arcsin(np.sqrt(alpha / (alpha + beta))), _REACH / (2 * np.sqrt(alpha + beta))
    low, high = max(centre - width, 0.0), min(centre + width, np.pi / 2)
    angles = np.union1d(np.linspace(0, np.pi / 2, 4 * _PRICES + 1), np.linspace(low, high, 4 * _PRICES + 1))
    share = (1 - _NARROW) * np.sin(angles) ** 2 + _NARROW * np.clip((angles - low) / (high - low), 0, 1)
    prices = np.sin(np.interp(np.linspace(0, 1, _PRICES + 1), share, angles)) ** 2
    return np.concatenate([[0.0], prices[1:-1], [1.0]])


def _roots(prices: FloatArray, excess: FloatArray) -> FloatArray:
    """Where each row [state, price], decreasing and convex in the price, comes down to zero."""
    row, last = np.arange(len(excess)), len(prices) - 1
    right = np.maximum(np.sum(excess > 0, axis=1), 1)  # the first price at which the row is not positive

    def root_through(first: Any, second: Any) -> FloatArray:
        high, low = excess[row, first], excess[row, second]
        gap = np.where(high > low, high - low, np.inf)
        return np.asarray(prices[first] + (prices[second] - prices[first]) * high / gap)

    left = right - 1
    bounds = prices[left], root_through(left, right)
    before = root_through(np.maximum(left - 1, 0), np.where(left > 0, left, right))
    after = root_through(np.minimum(right, last - 1), np.where(right < last, right + 1, last))
    return np.clip(np.maximum(before, np.where(right < last, after, bounds[0])), *bounds)
