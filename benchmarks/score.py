"""How much quieter the conditional score is than the score of the draw: variance, time, and both together.

    python benchmarks/score.py [standard] [hetero] [many] [bernoulli]

Traces of the gradient's variance over the paper's meta-parameters, mean/oracle, at plain Thompson sampling and at a
trained policy: in the paper's settings, and for five Bernoulli arms over 50 steps.
"""

import sys
import time
from typing import Any

import numpy as np

import tsgrad as tg
from measure import write
from tsgrad.experiments import SETTINGS, setting_named

EPISODES = 4096
BERNOULLI = (tg.BernoulliBandit(arms=5), 50)


def measured(problem: Any, policy: tg.SamplingPolicy, horizon: int, score: Any) -> tuple[float, float]:
    """Trace of the variance of an episode's gradient, and the seconds that all episodes took."""
    estimator = tg.Estimator("mean", "oracle", score=score)
    options: dict[str, Any] = {"horizon": horizon, "episodes": EPISODES, "seed": 1}
    tg.gradient(problem, policy, estimator, **options)  # whatever must be loaded
    began = time.perf_counter()
    found = tg.gradient(problem, policy, estimator, **options)
    return float(np.sum(found.standard_error**2) * EPISODES), time.perf_counter() - began


def main() -> None:
    """Measures, prints and writes."""
    for name in sys.argv[1:] or (*SETTINGS, "bernoulli"):
        setting = None if name == "bernoulli" else setting_named(name)
        problem, horizon = BERNOULLI if setting is None else (setting.problem, setting.horizon)
        start = tg.ReshapedThompson(problem)
        run = tg.train(problem, start, horizon=horizon, seed=0, progress=False)
        for place, policy in (("start", start), ("trained", run.trained)):
            draw, conditional = (measured(problem, policy, horizon, score) for score in ("draw", "conditional"))
            ratios = {
                "variance": draw[0] / conditional[0],
                "seconds": draw[1] / conditional[1],
                "variance times seconds": draw[0] * draw[1] / (conditional[0] * conditional[1]),
            }
            print(name, place, "draw over conditional:", {key: round(value, 2) for key, value in ratios.items()})
            write(f"score, {name}, {place}", ratios)


if __name__ == "__main__":
    main()
