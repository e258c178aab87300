"""One gradient of the standard setting against NumPy drawing as many normals: a ratio measured in one run.

Writes `benchmarks/results.json`. The measured calls alternate, and each side counts with its fastest, because the
machine may be busy with other things.
"""

import json
import resource
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

import tsgrad as tg

ARMS, HORIZON, EPISODES = 10, 500, 5000
REPEATS = 5


def fastest(*works: Callable[[], object]) -> list[float]:
    """The fastest of several runs of each piece of work, in seconds, after one to warm up."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(REPEATS + 1):
        for work, record in zip(works, times, strict=True):
            start = time.perf_counter()
            work()
            record.append(time.perf_counter() - start)
    return [min(record[1:]) for record in times]


def main() -> None:
    """Measures, prints and writes."""
    problem = tg.GaussianBandit(arms=ARMS)
    policy = tg.ReshapedThompson(problem)
    generator = np.random.Generator(np.random.SFC64(0))

    def numpy_normals() -> object:
        return generator.standard_normal(ARMS * HORIZON * EPISODES, dtype=np.float32)

    results = {"version": version("tsgrad"), "episodes": EPISODES, "horizon": HORIZON, "arms": ARMS}
    for pair in ("mean/oracle", "mean/self"):
        estimator = tg.Estimator(*pair.split("/"))

        def gradient(estimator: tg.Estimator = estimator) -> object:
            return tg.gradient(problem, policy, estimator, horizon=HORIZON, episodes=EPISODES, seed=0)

        ours, theirs = fastest(gradient, numpy_normals)
        results[pair] = {"seconds": ours, "numpy_seconds": theirs, "ratio": ours / theirs}
        print(f"{pair}: {ours:.2f} s a gradient, {ours / theirs:.2f} times NumPy's drawing of 25 million normals")
    results["peak_gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory {results['peak_gigabytes']:.2f} GB")
    Path(__file__).with_name("results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
