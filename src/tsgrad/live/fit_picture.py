"""Pictures of a fitted prior: whether it predicts what it was fitted on, and what it makes of each arm."""

from pathlib import Path
from typing import Any

import numpy as np

from tsgrad.artefact import write_whole


def write_fit_picture(fit: Any, path: str | Path) -> None:
    """Two panels, as PNG: ranks of the arms' totals in what the prior predicts, on the diagonal where it fits; and each
    arm's average beside its posterior mean, drawn to the prior's the more, the less often it was pulled.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    below, at_most = fit.law.predictive(fit.free, fit.units)
    ranks = np.sort((below + at_most) / 2)
    expected = (np.arange(len(ranks)) + 0.5) / len(ranks)
    figure = Figure(figsize=(9, 4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], color="0.7")
    left.plot(expected, ranks, ".", color="C0")
    left.set(
        xlabel="expected rank", ylabel="rank of an arm's total", title=f"Does the prior fit? p = {fit.fit_p_value:.2g}"
    )
    average = fit.units.average
    ends = [min(average), max(average)]
    right.plot(ends, ends, color="0.7")
    right.scatter(average, fit.shrunk, s=8 + 60 * fit.units.pulls / np.max(fit.units.pulls), color="C0", alpha=0.6)
    right.set(xlabel="average reward of an arm", ylabel="posterior mean", title="Shrinkage; larger dots, more pulls")
    write_whole(path, lambda file: figure.savefig(file, format="png", dpi=120))
