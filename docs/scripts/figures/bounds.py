"""Regrets of the paper's settings between two ends: plain Thompson sampling, and what no policy can go below.

    python docs/scripts/figures/bounds.py

The numbers are those that `benchmarks/recipe.py` has written.
"""

import json
from pathlib import Path

from matplotlib.figure import Figure

from drawing import save
from tsgrad.experiments import SETTINGS
from tsgrad.report.style import ACCENT, INK, MUTED, PAPER, Width, panels, styled

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"


@styled
def drawn(width: Width) -> Figure:
    """All as a share of the regret of plain Thompson sampling."""
    figure, (axes,) = panels(width, height=2.6)
    for place, (name, setting) in enumerate(reversed(SETTINGS.items())):
        found = json.loads((RESULTS / f"recipe-{name}.json").read_text())["results"]
        printed = min(row.regret for row in setting.trained.values())
        shown = {
            "limit": (found["limit"], "|", INK),
            "Gittins index": (found["Gittins"], "D", MUTED),
            "tuned, worst seed": (max(found["regret"]), "o", ACCENT),
            "best in the paper": (printed, "s", MUTED),
            "plain": (found["Thompson"], "o", INK),
        }
        axes.axhline(place, color=MUTED, linewidth=0.4, zorder=0)
        for label, (regret, marker, colour) in shown.items():
            axes.plot(
                regret / found["Thompson"],
                place,
                marker=marker,
                color=colour,
                linestyle="none",
                markersize=9 if marker == "|" else 6.5,
                markerfacecolor=PAPER if label in ("Gittins index", "best in the paper") else colour,
                markeredgewidth=2 if marker == "|" else 1,
                label=label if place == 0 else None,
            )
    axes.set_yticks(range(len(SETTINGS)), [f"{s.arms} arms,\n{s.horizon} steps" for s in reversed(SETTINGS.values())])
    axes.set(xlabel="regret, plain Thompson sampling = 1", xlim=(0, 1.03), ylim=(-0.5, len(SETTINGS) - 0.5))
    axes.grid(visible=False)
    figure.legend(loc="outside upper center", ncols=5 if width == "wide" else 2, fontsize=8)
    return figure


if __name__ == "__main__":
    save(drawn, "bounds")
