"""Intervals of what is believed of independent arms, by their own laws: beta and gamma laws are not symmetric."""

import numpy as np

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.laws import ProductLaw

_TAIL = 0.025  # on each side: 95% lie between
_POINTS = 128  # between two breaks of a density: rates of Beta(4, 96) and Gamma(1, 1) are right to 2e-4 of themselves


def central_intervals(law: ProductLaw) -> FloatArray:
    """The 2.5% and the 97.5% quantile of each arm, [2, K], in what arms are compared by.

    Densities are added up by trapezia between the breaks that chances of arms are integrated by.
    """
    marks = law.breaks()
    parts = np.arange(_POINTS)[:, None] / _POINTS
    inner = marks[:-1, None] + parts * np.diff(marks, axis=0)[:, None]
    points = np.concatenate([inner.reshape(-1, marks.shape[1]), marks[-1:]])
    # Each arm has points of its own: an axis of length one keeps laws from pairing all points with all arms.
    heights = law.log_density(points)[:, 0]
    density = np.exp(heights - np.max(heights, axis=0))
    areas = (density[1:] + density[:-1]) / 2 * np.diff(points, axis=0)
    below = np.concatenate([np.zeros((1, marks.shape[1])), np.cumsum(areas, axis=0)])
    wanted = [_TAIL, 1 - _TAIL]
    return np.stack([np.interp(wanted, b / b[-1], x) for b, x in zip(below.T, points.T, strict=True)], axis=1)
