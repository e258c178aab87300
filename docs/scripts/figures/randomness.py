"""Common random numbers: regrets of two policies on the same episodes, and what pairing does to a difference.

python docs/scripts/figures/randomness.py
"""

import numpy as np
from matplotlib.figure import Figure

import tsgrad as tg
from drawing import save
from tsgrad.report.style import ACCENT, INK, MUTED, Width, panels, styled

EPISODES = 4096


def regrets() -> list[np.ndarray]:
    """Plain Thompson sampling and 0.8 of its spread, on ten arms and 100 steps."""
    problem = tg.GaussianBandit(arms=10)
    policies = (tg.Thompson(), tg.ScaledThompson(0.8))
    return [tg.simulate(problem, policy, horizon=100, episodes=EPISODES, seed=0).regret for policy in policies]


@styled
def drawn(first: np.ndarray, second: np.ndarray, width: Width) -> Figure:
    """Left, a point for each of some episodes; right, standard errors with and without pairing."""
    figure, (left, right) = panels(width, 2, height=3.0)
    left.plot(first[:600], second[:600], ".", color=ACCENT, markersize=3, alpha=0.6)
    low, high = np.quantile(np.concatenate([first, second]), [0.001, 0.995])
    left.plot([low, high], [low, high], color=INK, linewidth=0.8)
    left.set(title="One point per episode", xlabel="regret, plain", ylabel="regret, 0.8 of the spread")
    left.set(xlim=(low, high), ylim=(low, high))
    paired = np.std(first - second) / np.sqrt(EPISODES)
    apart = np.sqrt((np.var(first) + np.var(second)) / EPISODES)
    bars = right.barh(["other\nepisodes", "the same\nepisodes"], [apart, paired], 0.5, color=[MUTED, ACCENT])
    right.bar_label(bars, fmt="%.3f", padding=3)
    right.margins(x=0.18)
    right.set(title="Standard error of the difference", xlabel=f"regret, {EPISODES:,} episodes")
    right.grid(visible=False)
    return figure


if __name__ == "__main__":
    found = regrets()
    save(lambda width: drawn(*found, width), "randomness")
