"""What families of counts share: rising factorials, and chances below a count."""

from typing import Any

import numpy as np
from scipy import special

from tsgrad.arrays import FloatArray


def log_rising(start: Any, steps: FloatArray) -> Any:
    """The logarithm of start (start + 1) ... (start + steps - 1) / start^steps, right to 1e-12 of `steps` or better
    whatever the start: the difference of two gamma functions is nothing but rounding where that is large.
    """
    small = np.clip(start, _TINY, _STIRLING)
    near = special.gammaln(small + steps) - special.gammaln(small) - steps * np.log(small)
    if np.all(start < _STIRLING):
        return near
    end = start + steps
    far = (end - 0.5) * np.log1p(steps / start) - steps + _stirling(end) - _stirling(start)
    return np.where(start < _STIRLING, near, far)


_TINY = 1e-300  # what a search rounds to zero on its way to a prior that is too weak for any log
_STIRLING = 50.0  # from where three terms of Stirling's series are exact


def _stirling(x: Any) -> Any:
    inverse = 1 / np.maximum(x, _STIRLING)
    return inverse * (1 / 12 - inverse**2 * (1 / 360 - inverse**2 / 1260))


def cdfs_of_counts(law: Any, total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Below, and at most, totals that are counts; there is nothing below zero, where scipy would look."""
    return np.where(total > 0, law.cdf(np.maximum(total - 1, 0)), 0.0), law.cdf(total)
