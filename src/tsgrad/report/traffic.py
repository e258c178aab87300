"""Traffic: which share of the users each arm gets, over the time of one experiment."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from tsgrad.arrays import FloatArray
from tsgrad.evaluate.digits import percentage
from tsgrad.problems import AnyProblem, FiniteArms
from tsgrad.report.contents import Picture
from tsgrad.report.style import ACCENT, MUTED, PAPER, SERIES_COLOURS, Width, panels, styled
from tsgrad.simulation import Episodes

MOST_PERIODS = 30  # more can't be told apart at the width of a page
MOST_NAMED = 5  # arms that have a colour of their own; the others are one


def traffic_picture(problem: AnyProblem, played: Episodes, names: Sequence[str]) -> Picture | None:
    """One experiment of those that were played, with trajectories: the median one by regret. None where arms can't be
    counted. Arms are called by their names, [K].
    """
    shares = _example(problem, played)
    if shares is None:
        return None
    last, horizon = int(np.argmax(shares[-1])), len(played.regret_over_time)
    return Picture(
        name="traffic",
        caption="One experiment, the median one by regret: which share of the users each arm gets. The arm that has"
        " most in the end is at the bottom.",
        alternative=f"Share of users by arm over time in one experiment: {names[last]} goes from"
        f" {percentage(float(shares[0, last]), 1.0)} to {percentage(float(shares[-1, last]), 1.0)}.",
        draw=lambda width: traffic(shares, horizon, names, width=width),
    )


def _example(problem: AnyProblem, played: Episodes) -> FloatArray | None:
    """Shares [periods, K] of the episode whose regret is the median one; None where arms can't be counted."""
    if not isinstance(problem.truth, FiniteArms) or played.trajectories is None:
        return None
    median = int(np.argsort(played.regret)[len(played.regret) // 2])
    arms = played.trajectories.arm
    if hasattr(arms, "arm"):  # users one by one: [N, T, users], of whom some may not be there
        chosen, there = np.asarray(arms.arm)[median], np.asarray(arms.there)[median]
        counts = np.stack([np.sum((chosen == arm) & there, axis=1) for arm in range(problem.truth.arms)], axis=1)
    else:
        one = np.asarray(arms)[median]
        counts = one if one.ndim == 2 else (one[:, None] == np.arange(problem.truth.arms))
    periods = np.array_split(counts.astype(np.float64), min(MOST_PERIODS, len(counts)))
    users = np.stack([np.sum(period, axis=0) for period in periods])
    return np.asarray(users / np.sum(users, axis=1, keepdims=True))


@styled
def traffic(shares: FloatArray, horizon: int, names: Sequence[str], *, width: Width = "wide") -> Figure:
    """Shares [periods, K] as bars that add up to one; the arm with most in the end at the bottom.

    >>> figure = traffic(np.array([[0.5, 0.5], [0.2, 0.8]]), 2, ["red", "blue"])
    >>> figure.axes[0].get_ylabel()
    'share of users'
    """
    figure, (axes,) = panels(width, height=2.9)
    ranked = np.argsort(-shares[-1], kind="stable")
    places = np.arange(len(shares))
    bottom = np.zeros(len(shares))
    colours = [ACCENT, *SERIES_COLOURS[: MOST_NAMED - 1]]
    for colour, arm in zip(colours, ranked, strict=False):
        axes.bar(places, shares[:, arm], 0.9, bottom=bottom, color=colour, edgecolor=PAPER, label=names[arm])
        bottom = bottom + shares[:, arm]
    if len(ranked) > len(colours):
        axes.bar(places, 1 - bottom, 0.9, bottom=bottom, color=MUTED, edgecolor=PAPER, label="all others")
    marks = np.unique(np.linspace(0, len(shares) - 1, min(len(shares), 8)).astype(int))
    axes.set_xticks(marks, [f"{round((mark + 1) * horizon / len(shares)):,}" for mark in marks])
    axes.set(xlabel="step", ylabel="share of users", ylim=(0, 1))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, reverse=True)
    return figure
