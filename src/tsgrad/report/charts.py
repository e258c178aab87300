"""Figures that compare policies: plain data in, a figure out."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from tsgrad.arrays import FloatArray
from tsgrad.evaluate.digits import INTERVAL_Z, decimals_at, fixed
from tsgrad.report.style import ACCENT, DASHES, INK, MUTED, PAPER, LineLabel, Width, label_lines, panels, styled

MOST_TICKS = 12  # with more arms, not every one is numbered
MOST_BARS = 30  # with more arms, bars are too thin to read and a line takes their place


@styled
def ranking(
    policies: Mapping[str, tuple[float, float]],
    *,
    trained: str,
    reference: str,
    bound: float | None = None,
    width: Width = "wide",
) -> Figure:
    """Policies by (regret, standard error) with 95% intervals, the least on top; the trained policy stands out.

    >>> figure = ranking({"trained": (15.4, 0.1), "plain": (25.8, 0.2)}, trained="trained", reference="plain")
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['plain', 'trained']
    """
    names = sorted(policies, key=lambda name: -policies[name][0])
    figure, (axes,) = panels(width, height=0.75 + 0.22 * len(names))
    for place, name in enumerate(names):
        regret, error = policies[name]
        colour = ACCENT if name == trained else INK if name == reference else MUTED
        axes.errorbar(
            regret,
            place,
            xerr=INTERVAL_Z * error,
            color=colour,
            marker="o",
            markersize=6 if name == trained else 4.5,
            markerfacecolor=colour if name in (trained, reference) else PAPER,
            elinewidth=1.0,
        )
    axes.set_yticks(range(len(names)), names)
    for tick, name in zip(axes.get_yticklabels(), names, strict=True):
        tick.set(color=ACCENT if name == trained else INK, fontweight="bold" if name == trained else "normal")
    axes.set(xlabel="regret, with 95% confidence interval", ylim=(-0.7, len(names) - 0.3))
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", linewidth=0.6)
    if bound is not None:
        _mark_bound(axes, bound)
    return figure


def _mark_bound(axes: Axes, bound: float) -> None:
    axes.axvline(bound, color=INK, linewidth=1.0, linestyle=(0, (1, 2)))
    axes.text(bound, 1.0, " no policy can lose less", transform=axes.get_xaxis_transform(), va="bottom", fontsize=8)


@styled
def regret_over_time(
    curves: Mapping[str, FloatArray], *, trained: str, reference: str, width: Width = "wide"
) -> Figure:
    """The regret of each policy up to each step, [T] each.

    >>> figure = regret_over_time({"trained": np.ones(5), "plain": np.arange(5)}, trained="trained", reference="plain")
    >>> len(figure.axes)
    1
    """
    height = 3.1
    figure, (axes,) = panels(width, height=height)
    dashes = cycle(DASHES)
    labels = []
    for name, curve in curves.items():
        colour = ACCENT if name == trained else INK if name == reference else MUTED
        strong = name in (trained, reference)
        axes.plot(
            np.arange(1, len(curve) + 1),
            curve,
            color=colour,
            linestyle="solid" if strong else next(dashes),
            linewidth=2.0 if name == trained else 1.2,
            zorder=3 if strong else 2,
        )
        labels.append(LineLabel(float(curve[-1]), name, colour, strong=name == trained))
    axes.set(xlabel="step", ylabel="regret so far", xlim=(1, max(2, len(curve))), ylim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    label_lines(axes, labels, panel_height=height)
    return figure


@styled
def pulls_per_arm(
    before: FloatArray,
    after: FloatArray,
    labels: Sequence[str],
    *,
    names: tuple[str, str],
    title: str = "arm",
    width: Width = "wide",
) -> Figure:
    """How often each arm is pulled in an episode, by two policies; [K] each.

    >>> figure = pulls_per_arm(np.array([1.0, 9.0]), np.array([4.0, 6.0]), ["0", "1"], names=("plain", "trained"))
    >>> len(figure.axes[0].patches)
    4
    """
    figure, (axes,) = panels(width, height=2.8)
    _paired_bars(axes, before, after, labels, names)
    axes.set(xlabel=title, ylabel="pulls per episode")
    return figure


@styled
def regret_by_phase(
    before: FloatArray, after: FloatArray, phases: Sequence[str], *, names: tuple[str, str], width: Width = "wide"
) -> Figure:
    """The regret of two policies in each phase of the episode, and how much less that of the second one is.

    >>> figure = regret_by_phase(np.array([3.0, 9.0]), np.array([4.0, 2.0]), ["1-5", "6-10"], names=("a", "b"))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['+1.0', '−7.0']
    """
    figure, (axes,) = panels(width, height=2.8)
    _paired_bars(axes, before, after, phases, names)
    digits = decimals_at(float(np.max([before, after])))
    for place, (first, second) in enumerate(zip(before, after, strict=True)):
        sign = "+" if second > first else "−"
        axes.annotate(
            f"{sign}{fixed(abs(second - first), digits)}",
            (place, max(first, second)),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            color=ACCENT,
            fontweight="bold",
        )
    axes.margins(y=0.12)
    axes.set(xlabel="steps", ylabel="regret in these steps")
    return figure


def _paired_bars(
    axes: Axes, before: FloatArray, after: FloatArray, labels: Sequence[str], names: tuple[str, str]
) -> None:
    """Hollow bars before, solid ones after: told apart without colour."""
    places = np.arange(len(labels))
    if len(labels) > MOST_BARS:
        axes.plot(places, before, color=INK, linestyle=DASHES[0], label=names[0])
        axes.plot(places, after, color=ACCENT, label=names[1])
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        axes.bar(places - 0.2, before, 0.36, facecolor=PAPER, edgecolor=INK, hatch="////", label=names[0])
        axes.bar(places + 0.2, after, 0.36, facecolor=ACCENT, edgecolor=ACCENT, label=names[1])
        axes.set_xticks(places, labels)
        if len(labels) > MOST_TICKS:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=MOST_TICKS))
            axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=2,
        borderaxespad=0,
        handlelength=1.3,
        handletextpad=0.5,
        columnspacing=1.0,
        fontsize=8,
    )
