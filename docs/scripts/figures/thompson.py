"""Thompson sampling explores too much: regret by a factor on the posterior's spread, for several horizons.

python docs/scripts/figures/thompson.py
"""

import numpy as np
from matplotlib.figure import Figure

import tsgrad as tg
from drawing import save
from tsgrad.report.style import ACCENT, DASHES, INK, SERIES_COLOURS, LineLabel, Width, label_lines, panels, styled

FACTORS = np.linspace(0.1, 1.4, 14)
HORIZONS = (10, 50, 500)
HEIGHT = 3.1


def relative_regrets(horizon: int) -> np.ndarray:
    """Of ten Gaussian arms with standard normal priors and unit noise; one for each factor, plain sampling has 1."""
    problem = tg.GaussianBandit(arms=10)

    def regret(policy: tg.Policy) -> float:
        return tg.simulate(problem, policy, horizon=horizon, episodes=8192, seed=0).regret.mean()

    return np.array([regret(tg.ScaledThompson(factor)) for factor in FACTORS]) / regret(tg.Thompson())


@styled
def drawn(curves: dict[int, np.ndarray], width: Width) -> Figure:
    """A line for each horizon, its least regret marked."""
    figure, (axes,) = panels(width, height=HEIGHT)
    labels = []
    for (horizon, curve), colour, dash in zip(
        curves.items(), (ACCENT, *SERIES_COLOURS), ("solid", *DASHES), strict=False
    ):
        axes.plot(FACTORS, curve, color=colour, linestyle=dash)
        best = int(np.argmin(curve))
        axes.plot(FACTORS[best], curve[best], "o", color=colour)
        labels.append(LineLabel(float(curve[-1]), f"{horizon} steps", colour))
    axes.axvline(1.0, color=INK, linewidth=0.8)
    axes.text(0.99, 0.94, "plain ", transform=axes.get_xaxis_transform(), fontsize=8, ha="right")
    axes.set(xlabel="factor on the posterior's standard deviation", ylabel="regret, plain = 1")
    axes.set(xlim=(FACTORS[0], FACTORS[-1]), ylim=(0.5, 1.6))
    label_lines(axes, labels, panel_height=HEIGHT)
    return figure


if __name__ == "__main__":
    curves = {horizon: relative_regrets(horizon) for horizon in HORIZONS}
    save(lambda width: drawn(curves, width), "thompson")
