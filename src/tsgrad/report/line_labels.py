"""Names at the ends of lines, in place of a legend: nothing to look up, and nothing that rests on colour alone."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import isotonic_regression

from tsgrad.arrays import FloatArray
from tsgrad.report.style import MUTED

LABEL_HEIGHT = 11.0  # points, of text in the size of figures
DRAWN_SHARE = 0.82  # of a panel's height, what is left below its title and above its axis


class LineLabel(NamedTuple):
    """What a line is called, and the height at which it ends."""

    height: float
    text: str
    colour: str = MUTED
    strong: bool = False


def spread(heights: FloatArray, gap: float) -> FloatArray:
    """Heights at least `gap` apart, in the same order, as near to those given as can be.

    >>> print(spread(np.array([1.0, 1.1, 5.0]), 0.5))
    [0.8 1.3 5. ]
    """
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    placed = np.empty(len(heights))
    placed[order] = isotonic_regression(heights[order] - steps).x + steps
    return placed


def label_lines(axes: Axes, labels: list[LineLabel], *, panel_height: float) -> None:
    """Writes the labels to the right of a panel of `panel_height` inches, none on top of another."""
    low, high = axes.get_ylim()
    gap = LABEL_HEIGHT / (72 * panel_height * DRAWN_SHARE) * (high - low)
    places = spread(np.array([label.height for label in labels]), gap)
    beside = axes.get_yaxis_transform()
    for label, place in zip(labels, places, strict=True):
        axes.plot(
            [1.005, 1.035],
            [label.height, place],
            color=label.colour,
            linewidth=0.6,
            transform=beside,
            clip_on=False,
        )
        axes.text(
            1.045,
            float(place),
            label.text,
            color=label.colour,
            fontweight="bold" if label.strong else "normal",
            fontsize=8,
            va="center",
            transform=beside,
        )
