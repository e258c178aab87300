"""The conditional score: what is averaged over, and what it does to the noise of a gradient.

python docs/scripts/figures/conditional_score.py
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import norm

import tsgrad as tg
from drawing import save
from tsgrad.experiments import SETTINGS
from tsgrad.report.style import ACCENT, INK, MUTED, SERIES_COLOURS, Width, panels, styled

THRESHOLD = 0.9


def variance(setting: Any, score: Any) -> float:
    """The trace of the variance of a gradient by mean/oracle, at plain Thompson sampling."""
    problem, estimator = setting.problem, tg.Estimator("mean", "oracle", score=score)
    policy = tg.ReshapedThompson(problem)
    found = tg.gradient(problem, policy, estimator, horizon=setting.horizon, episodes=1024, seed=0)
    return float(np.sum(found.standard_error**2))


@styled
def drawn(ratios: dict[str, float], width: Width) -> Figure:
    """Left, two arms after a choice; right, ratios of variances in the paper's settings."""
    figure, (left, right) = panels(width, 2, height=2.9)
    values = np.linspace(-3.2, 3.8, 400)
    for mean, colour, name in ((0.0, SERIES_COLOURS[0], "an arm that lost "), (0.8, ACCENT, "  the arm played")):
        density = norm.pdf(values - mean)
        kept = values < THRESHOLD if mean == 0 else values > THRESHOLD
        left.plot(values, density, color=colour, linewidth=1.2)
        left.fill_between(values, density, where=kept, color=colour, alpha=0.25, linewidth=0)
        left.annotate(name, (mean if mean == 0 else THRESHOLD, 0.42), ha="right" if mean == 0 else "left", color=colour)
    left.axvline(THRESHOLD, color=INK, linewidth=0.8, linestyle=(0, (3, 2)))
    left.set(title="What each draw may have been", xlabel="value drawn", yticks=[], ylim=(0, 0.47))
    bars = right.barh(list(ratios), list(ratios.values()), 0.5, color=ACCENT)
    right.bar_label(bars, fmt="%.1f", padding=3, color=MUTED)
    right.margins(x=0.15)
    right.set(title="How many times less variance", xlabel="score of the draw / conditional score")
    right.grid(visible=False)
    return figure


if __name__ == "__main__":
    ratios = {name: variance(one, "draw") / variance(one, "conditional") for name, one in SETTINGS.items()}
    save(lambda width: drawn(ratios, width), "conditional-score")
