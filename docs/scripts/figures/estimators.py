"""How noisy gradients by every metric and baseline are, at plain Thompson sampling.

python docs/scripts/figures/estimators.py
"""

import numpy as np
from matplotlib.figure import Figure

import tsgrad as tg
from drawing import save
from tsgrad.estimate import BASELINES, METRICS
from tsgrad.report.style import ACCENT, MARKERS, SERIES_COLOURS, Width, panels, styled

EPISODES = 2048


def variance(metric: str, baseline: str) -> float:
    """Five Gaussian arms, ten steps: the trace of the variance of one rollout's gradient."""
    problem = tg.GaussianBandit(arms=5)
    estimator = tg.Estimator(metric, baseline)
    found = tg.gradient(problem, tg.ReshapedThompson(problem), estimator, horizon=10, episodes=EPISODES, seed=0)
    return EPISODES * estimator.rollouts * float(np.sum(found.standard_error**2))


@styled
def drawn(variances: dict[str, list[float]], width: Width) -> Figure:
    """A column for each baseline, a marker for each metric, beside one another."""
    figure, (axes,) = panels(width, height=3.1)
    for place, (metric, values) in enumerate(variances.items()):
        axes.plot(
            np.arange(len(BASELINES)) + 0.13 * (place - 2),
            values,
            marker=MARKERS[place],
            color=(ACCENT, *SERIES_COLOURS)[place],
            linestyle="none",
            markersize=6,
            label=metric,
        )
    axes.set_xticks(range(len(BASELINES)), BASELINES)
    axes.set(yscale="log", xlabel="baseline", ylabel="variance times rollouts")
    figure.legend(loc="outside upper center", ncols=len(METRICS))
    return figure


if __name__ == "__main__":
    variances = {metric: [variance(metric, baseline) for baseline in BASELINES] for metric in METRICS}
    save(lambda width: drawn(variances, width), "estimators")
