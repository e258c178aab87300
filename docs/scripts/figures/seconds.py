"""Regret against seconds of work: training, and CMA-ES on the same family of policies.

    python docs/scripts/figures/seconds.py

The numbers are those that `benchmarks/cma_es.py` has written.
"""

import json
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from drawing import save
from tsgrad.experiments import SETTINGS
from tsgrad.report.style import ACCENT, INK, MUTED, Width, panels, styled

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"


@styled
def drawn(width: Width) -> Figure:
    """A panel per setting: the median of three seeds, and between which values they are."""
    figure, every = panels(width, len(SETTINGS), height=2.6, columns=3)
    for axes, (name, setting) in zip(every, SETTINGS.items(), strict=True):
        found = json.loads((RESULTS / f"regret-against-seconds-{name}.json").read_text())["results"]
        for learner, colour in (("CMA-ES", MUTED), ("training", ACCENT)):
            seconds = [float(moment) for moment in found[learner][0]]
            regrets = np.array([list(curve.values()) for curve in found[learner]])
            axes.plot(seconds, np.median(regrets, axis=0), color=colour, label=learner)
            axes.fill_between(seconds, regrets.min(axis=0), regrets.max(axis=0), color=colour, alpha=0.2, linewidth=0)
        axes.axhline(found["Gittins"], color=INK, linewidth=0.8, linestyle=(0, (4, 3)), label="Gittins index")
        axes.set(xscale="log", xlabel="seconds", title=f"{setting.arms} arms, {setting.horizon} steps")
        axes.set_xticks([1, 4, 16], ["1", "4", "16"])
        axes.minorticks_off()
    every[0].set_ylabel("regret")
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    return figure


if __name__ == "__main__":
    save(drawn, "seconds")
