"""Pictures of a fitted prior: whether it predicts what it was fitted on, and what it makes of each arm."""

from pathlib import Path
from typing import Any

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.artefact import write_whole
from tsgrad.live.goodness import broken_ties, refitted


def write_fit_picture(fit: Any, path: str | Path) -> None:
    """Two panels, as PNG: ranks of the arms' totals, on the diagonal where a prior of the family fits; and each arm's
    average beside its posterior mean, drawn to the prior's the more, the less often it was pulled.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    below, at_most, ranks = predicted_ranks(fit)
    order = np.argsort(ranks)
    expected = (np.arange(len(ranks)) + 0.5) / len(ranks)
    figure = Figure(figsize=(9, 4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], color="0.7")
    left.vlines(expected, below[order], at_most[order], color="C0", alpha=0.25)
    left.plot(expected, ranks[order], ".", color="C0")
    left.set(
        xlabel="expected rank", ylabel="rank of an arm's total", title=f"Does the prior fit? p = {fit.fit_p_value:.2g}"
    )
    average = fit.units.average
    ends = [min(average), max(average)]
    right.plot(ends, ends, color="0.7")
    right.scatter(average, fit.shrunk, s=8 + 60 * fit.units.pulls / np.max(fit.units.pulls), color="C0", alpha=0.6)
    right.set(xlabel="average reward of an arm", ylabel="posterior mean", title="Shrinkage; larger dots, more pulls")
    write_whole(path, lambda file: figure.savefig(file, format="png", dpi=120))


def predicted_ranks(fit: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Chances of less than the total of each arm and of no more, and a rank at random between them, [n] each.

    They are those of the likeliest prior, which the p-value is of; where the data can't tell, it is not the one that is
    shown. Where most arms have no reward or one, as with rare clicks, the middles of bars from the first to the second
    lie on no diagonal though the prior is right.
    """
    found = fit.standard
    best = refitted(found.law, found.free, np.linalg.cholesky(found.covariance), found.units)
    below, at_most = found.law.predictive(best, found.units)
    return below, at_most, broken_ties(below, at_most, np.random.default_rng(0))
