"""Figures of training: how regret fell, where the meta-parameters went, how the pulls moved."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator
from scipy.ndimage import uniform_filter1d

from tsgrad.arrays import FloatArray
from tsgrad.policies import BonusSurface
from tsgrad.report.style import (
    ACCENT,
    DASHES,
    INK,
    MARKERS,
    MUTED,
    PAPER,
    SERIES_COLOURS,
    LineLabel,
    Width,
    label_lines,
    panels,
    styled,
)
from tsgrad.report.words import short

MOST_POINTS = 250  # of a line: more can't be told apart at the width of a page
HEADROOM = 1.25  # how far above where training starts a rival's line is still drawn


class Curve(NamedTuple):
    """Regret by iteration, [iterations] each."""

    iteration: FloatArray
    regret: FloatArray

    @classmethod
    def through(cls, points: Sequence[tuple[int, float]]) -> "Curve":
        """The curve through some points (iteration, regret)."""
        return cls(*(np.array(axis, dtype=float) for axis in zip(*points, strict=True)))


def averaging_window(iterations: int) -> int:
    """Over how many iterations a learning curve is averaged: a fiftieth of them."""
    return max(1, iterations // 50)


@styled
def learning_curves(
    curves: Mapping[str, Curve],
    *,
    rivals: Mapping[str, float],
    strong: str | None = None,
    checks: Curve | None = None,
    selected: tuple[int, float] | None = None,
    bound: float | None = None,
    width: Width = "wide",
) -> Figure:
    """Regret on the training batches, averaged over a few iterations; rivals as dashed lines.

    The curve called `strong` stands out; with a single curve it is that. `checks` are the measurements on validation
    episodes, of which the `selected` one (iteration, regret) is marked.
    Rivals far above where training starts are left out; `rivals_off_the_chart` names them.

        >>> curve = Curve(np.arange(100), np.linspace(25, 15, 100))
        >>> figure = learning_curves({"mean/self": curve}, rivals={"Bayes-UCB": 22.0})
        >>> figure.axes[0].get_xlabel()
        'iteration'
    """
    height = 3.6
    figure, (axes,) = panels(width, height=height)
    labels = []
    alone = len(curves) == 1
    colours = cycle(SERIES_COLOURS)
    for number, ((name, curve), marker) in enumerate(zip(curves.items(), cycle(MARKERS), strict=False)):
        line = _averaged(curve)
        stands_out = alone or name == strong
        colour = ACCENT if stands_out else next(colours)
        every = max(1, len(line.iteration) // 6)
        axes.plot(
            line.iteration,
            line.regret,
            color=colour,
            linewidth=1.9 if stands_out else 1.2,
            marker=None if alone else marker,
            markevery=(number * every // max(1, len(curves)), every),
            zorder=3.5 if stands_out else 3,
        )
        labels.append(LineLabel(float(line.regret[-1]), name, colour, strong=stands_out))
    if checks is not None:
        axes.plot(
            *checks,
            linestyle="none",
            marker="o",
            markersize=3.5,
            color=INK,
            markerfacecolor=PAPER,
            zorder=4,
            clip_on=False,
        )
    if selected is not None:
        axes.plot(*selected, linestyle="none", marker="*", markersize=11, color=INK, markerfacecolor=ACCENT, zorder=5)
    off_the_chart = rivals_off_the_chart(curves, rivals)
    shown = {name: regret for name, regret in rivals.items() if name not in off_the_chart}
    for (name, regret), dash in zip(shown.items(), cycle(DASHES), strict=False):
        axes.axhline(regret, color=MUTED, linewidth=1.0, linestyle=dash)
        labels.append(LineLabel(regret, name))
    if bound is not None:
        axes.axhline(bound, color=INK, linewidth=1.0, linestyle=(0, (1, 2)))
        labels.append(LineLabel(bound, "limit", INK))
    last = max(float(curve.iteration[-1]) for curve in curves.values())
    lines = [*shown.values(), *([] if bound is None else [bound])]
    axes.set(xlabel="iteration", ylabel="regret", xlim=(0, last + 1), ylim=_limits(curves, lines))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    label_lines(axes, labels, panel_height=height)
    return figure


def rivals_off_the_chart(curves: Mapping[str, Curve], rivals: Mapping[str, float]) -> list[str]:
    """Rivals so much worse than where training starts that their lines would flatten all others."""
    ceiling = HEADROOM * max(_averaged(curve).regret[0] for curve in curves.values())
    return [name for name, regret in rivals.items() if regret > ceiling]


def leave_the_frame(curves: Mapping[str, Curve], lines: Sequence[float]) -> bool:
    """Whether a curve goes so far above where training starts that its top is not drawn."""
    _, highest = _limits(curves, lines)
    return any(np.max(_averaged(curve).regret) > highest for curve in curves.values())


def _averaged(curve: Curve) -> Curve:
    iteration, regret = (np.asarray(axis, dtype=float) for axis in curve)
    smooth = uniform_filter1d(regret, averaging_window(len(regret)), mode="nearest")
    kept = np.unique(np.linspace(0, len(regret) - 1, MOST_POINTS).astype(int))
    return Curve(iteration[kept], smooth[kept])


def _limits(curves: Mapping[str, Curve], lines: Sequence[float]) -> tuple[float, float]:
    """Limits that hold every line, and no more than `HEADROOM` of a curve that went astray."""
    drawn = [_averaged(curve).regret for curve in curves.values()]
    ceiling = HEADROOM * max(regret[0] for regret in drawn)
    shown = [line for line in lines if line <= ceiling]
    lowest = min([float(np.min(regret)) for regret in drawn] + shown)
    highest = max([min(float(np.max(regret)), ceiling) for regret in drawn] + shown)
    room = 0.06 * (highest - lowest) or 1.0
    return lowest - room, highest + room


@styled
def meta_parameters(
    before: Mapping[str, FloatArray], after: Mapping[str, FloatArray], labels: Sequence[str], *, width: Width = "wide"
) -> Figure:
    """Every meta-parameter of every arm: hollow before training, solid after. Axes: [K] each, or none where shared.

    >>> figure = meta_parameters({"decay": np.zeros(2)}, {"decay": np.ones(2)}, ["0", "1"])
    >>> figure.axes[0].get_title(loc="left")
    'decay'
    """
    figure, grid = panels(width, len(before), height=1.9)
    for axes, (name, values) in zip(grid, before.items(), strict=True):
        start, end = (np.atleast_1d(np.asarray(side, dtype=float)) for side in (values, after[name]))
        places = np.arange(len(start))
        axes.vlines(places, start, end, color=MUTED, linewidth=0.8)
        axes.plot(places, start, "o", color=INK, markerfacecolor=PAPER, label="before")
        axes.plot(places, end, "o", color=ACCENT, label="after")
        axes.set(title=name.replace("_", " "), xlim=(-0.6, len(start) - 0.4))
        axes.set_xticks(
            places, labels if len(labels) == len(start) else ["all"] if len(start) == 1 else map(str, places)
        )
        if len(start) > 12:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        _scale(axes, np.concatenate([start, end]))
    grid[0].legend(loc="best", handletextpad=0.1, borderaxespad=0.1)
    return figure


@styled
def bonus_over_time(policy: BonusSurface, *, least_left: int = 1, width: Width = "wide") -> Figure:
    """What a bonus law learned: the bonus and the spread of an arm by steps left, for several strengths of belief.

    From `least_left` on, which are those of the last batch where users come in batches.

    >>> from tsgrad.policies import Bonus
    >>> flat = Bonus(bonus=[0.5], log_spread=[0.0], most_left=50, least_known=1, most_known=51)
    >>> [line.get_label() for line in bonus_over_time(flat).axes[0].lines][:2]
    ['1', '3.71']
    >>> print(bonus_over_time(flat, least_left=20).axes[0].lines[0].get_xdata()[[0, -1]].round())
    [20. 50.]
    """
    figure, grid = panels(width, 2, height=2.8)
    (_, all_time), (least, most) = policy.log_ranges(np)
    first = float(np.log(least_left))
    left = np.exp(np.linspace(first, max(all_time, first + 0.01), 80))
    strengths = np.exp(np.linspace(least, most, 4))
    for strength, dash, colour in zip(strengths, DASHES, (ACCENT, INK, INK, MUTED), strict=False):
        bonus, log_spread = policy.surface(left, np.full_like(left, strength))
        for axes, values in zip(grid, (bonus, np.exp(log_spread)), strict=True):
            axes.plot(left, values, color=colour, linestyle=dash, label=short(strength))
    for axes, title in zip(grid, ("bonus, in standard deviations", "spread, of the posterior's"), strict=True):
        axes.set(title=title, xlabel="users left" if least_left > 1 else "steps left")
        if left[-1] > 30 * left[0]:
            axes.set_xscale("log")
            axes.xaxis.set_minor_locator(NullLocator())
        else:
            axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    grid[0].legend(title="rewards known", loc="best", handletextpad=0.4, borderaxespad=0.1)
    return figure


def _scale(axes: Axes, values: FloatArray) -> None:
    """A logarithmic axis where positive values span more than a decade and a half."""
    if np.all(values > 0) and np.max(values) > 30 * np.min(values):
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


@styled
def pulls_during_training(pulls: Mapping[int, FloatArray], *, width: Width = "wide") -> Figure:
    """Average pulls per arm at some iterations, arms sorted by them; [K] each.

    >>> figure = pulls_during_training({1: np.array([4.0, 6.0]), 1000: np.array([9.0, 1.0])})
    >>> print(figure.axes[0].lines[1].get_ydata())
    [9. 1.]
    """
    height = 3.1
    figure, (axes,) = panels(width, height=height)
    looks = zip(cycle(DASHES), cycle(MARKERS))
    last = max(pulls)
    for (iteration, counts), (dash, marker) in zip(pulls.items(), looks, strict=False):
        ordered = np.sort(np.asarray(counts, dtype=float))[::-1]
        axes.plot(
            np.arange(1, len(ordered) + 1),
            ordered,
            color=ACCENT if iteration == last else INK,
            linestyle="solid" if iteration == last else dash,
            linewidth=2.0 if iteration == last else 1.0,
            marker=marker,
            markerfacecolor=ACCENT if iteration == last else PAPER,
            label=f"iteration {iteration:,}",
        )
    axes.set(xlabel="arms, the most pulled first", ylabel="pulls per episode", ylim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper right")
    return figure
