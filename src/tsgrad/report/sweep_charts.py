"""Figures of sweeps: the gain over two axes as a heat map, along one with intervals. Plain data in, a figure out."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from tsgrad.evaluate.digits import INTERVAL_Z, fixed
from tsgrad.report.style import (
    ACCENT,
    DASHES,
    INK,
    MARKERS,
    MUTED,
    SERIES_COLOURS,
    LineLabel,
    Width,
    label_lines,
    panels,
    styled,
)

STRONGEST = 0.6  # opacity of the largest gain: text on it must be read
LOG_RATIO = 8.0  # largest over smallest value from which on an axis is logarithmic
LINE_HEIGHT = 2.7


class Point(NamedTuple):
    """The gain of a run as a share of the start's regret, in percent, and whether it is beyond chance."""

    share: float
    standard_error: float
    improved: bool


Grid = Mapping[tuple[Any, Any], Point]  # by the values of the first and of the second axis


@styled
def heat_map(
    grids: Mapping[str, Grid], *, across: tuple[str, Sequence[Any]], up: tuple[str, Sequence[Any]], width: Width
) -> Figure:
    """A panel for each grid, with the gain in every cell; darker is more, dashed is not beyond chance.

    >>> grid = {(2, 10): Point(20.0, 1.0, True), (3, 10): Point(0.1, 1.0, False)}
    >>> figure = heat_map({"": grid}, across=("arms", [2, 3]), up=("horizon", [10]), width="wide")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['20%', '0%']
    """
    figure, drawn = panels(width, len(grids), height=0.9 + 0.42 * len(up[1]))
    most = max((point.share for grid in grids.values() for point in grid.values()), default=0.0)
    for axes, (title, grid) in zip(drawn, grids.items(), strict=True):
        axes.set_title(title)
        for (first, second), point in grid.items():
            _cell(axes, across[1].index(first), up[1].index(second), point, most)
        axes.set_xticks(range(len(across[1])), [str(value) for value in across[1]])
        axes.set_yticks(range(len(up[1])), [str(value) for value in up[1]])
        axes.set(xlabel=across[0], ylabel=up[0], xlim=(-0.5, len(across[1]) - 0.5), ylim=(-0.5, len(up[1]) - 0.5))
        axes.grid(visible=False)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return figure


def _cell(axes: Axes, column: int, row: int, point: Point, most: float) -> None:
    corner, size = (column - 0.48, row - 0.47), (0.96, 0.94)
    if point.improved and most > 0:
        strength = STRONGEST * max(point.share, 0.0) / most
        axes.add_patch(Rectangle(corner, *size, facecolor=ACCENT, edgecolor="none", alpha=max(strength, 0.04)))
    else:
        axes.add_patch(Rectangle(corner, *size, facecolor="none", edgecolor=MUTED, linestyle=(0, (2, 2))))
    digits = 1 if abs(point.share) < 9.95 and point.improved else 0
    axes.text(column, row, f"{fixed(point.share, digits)}%", ha="center", va="center", color=INK)


@styled
def gain_lines(
    grids: Mapping[str, Grid], *, along: tuple[str, Sequence[Any]], by: tuple[str, Sequence[Any]], width: Width
) -> Figure:
    """A panel for each grid: the gain along the first axis, with 95% intervals, a line for each value of the second.

    >>> grid = {(10, 2): Point(20.0, 1.0, True), (100, 2): Point(30.0, 1.0, True)}
    >>> figure = gain_lines({"": grid}, along=("horizon", [10, 100]), by=("arms", [2]), width="wide")
    >>> figure.axes[0].get_xscale()
    'log'
    """
    figure, drawn = panels(width, len(grids), height=LINE_HEIGHT)
    places, is_log = _places(along[1])
    for axes, (title, grid) in zip(drawn, grids.items(), strict=True):
        axes.set_title(title)
        for number, value in enumerate(by[1]):
            points = [grid[first, value] for first in along[1]]
            axes.errorbar(
                places,
                [point.share for point in points],
                yerr=[INTERVAL_Z * point.standard_error for point in points],
                color=_colour(number),
                marker=MARKERS[number % len(MARKERS)],
                linestyle="solid" if number == 0 else DASHES[(number - 1) % len(DASHES)],
                elinewidth=1.0,
            )
        if is_log:
            axes.set_xscale("log")
            axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(places, [str(value) for value in along[1]])
        axes.set(xlabel=along[0], ylabel="gain, % of the start's regret")
        axes.axhline(0, color=MUTED, linewidth=0.8)
    low = min(axes.get_ylim()[0] for axes in drawn)
    high = max(axes.get_ylim()[1] for axes in drawn)
    for axes, grid in zip(drawn, grids.values(), strict=True):
        axes.set_ylim(low, high)
        if len(by[1]) > 1:
            ends = [
                LineLabel(grid[along[1][-1], value].share, str(value), _colour(number))
                for number, value in enumerate(by[1])
            ]
            label_lines(axes, ends, panel_height=LINE_HEIGHT)
    return figure


def _colour(number: int) -> str:
    return (ACCENT, *SERIES_COLOURS)[number % (1 + len(SERIES_COLOURS))]


def _places(values: Sequence[Any]) -> tuple[list[float], bool]:
    """Where values stand on an axis, and whether it is logarithmic: numbers as they are, others one after the other."""
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return [float(place) for place in range(len(values))], False
    numbers = np.array(values, dtype=float)
    is_log = bool(numbers.min() > 0 and numbers.max() / numbers.min() >= LOG_RATIO)
    return numbers.tolist(), is_log
