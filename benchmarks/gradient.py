"""One gradient of each of the paper's settings: both engines, against NumPy drawing as many normals, in one run."""

import resource
from importlib.metadata import version
from typing import Any

import numpy as np

import tsgrad as tg
from measure import fastest, write
from tsgrad import native

SETTINGS = {
    "standard": (tg.GaussianBandit(arms=10), 500, 5000),
    "hetero": (tg.GaussianBandit(noise_std=[0.1, 0.4, 1.0, 4.0, 10.0]), 50, 1000),
    "many": (tg.GaussianBandit(arms=20), 20, 1000),
}


def compared(problem: tg.GaussianBandit, horizon: int, episodes: int, pair: str) -> dict[str, Any]:
    """Seconds and ratios of one setting and pair."""
    policy = tg.ReshapedThompson(problem)
    metric, baseline = pair.split("/")
    estimator = tg.Estimator(metric, baseline, score="draw")
    generator = np.random.Generator(np.random.SFC64(0))
    normals = problem.arms * horizon * episodes * estimator.rollouts
    kernel = native.kernel_for(problem, policy)
    where = {
        "horizon": horizon,
        "seed": 0,
        "purpose": tg.Purpose.TRAINING,
        "iteration": 0,
        "episodes": episodes,
        "precision": "float32",
        "metric": metric,
        "baseline": baseline,
        "rollouts": estimator.rollouts,
        "single_time": estimator.single_time,
        "conditional": estimator.score == "conditional",
    }

    def jax() -> object:
        return tg.gradient(problem, policy, estimator, horizon=horizon, episodes=episodes, seed=0, engine="jax")

    seconds = fastest(
        {
            "native, 1 thread": lambda: list(native.gradient_blocks(kernel, threads=1, **where)),
            "native, 2 threads": lambda: list(native.gradient_blocks(kernel, threads=2, **where)),
            "jax": jax,
            "numpy": lambda: generator.standard_normal(normals, dtype=np.float32),
        }
    )
    two = seconds["native, 2 threads"]
    return {
        "seconds": seconds,
        "native / numpy": two / seconds["numpy"],
        "jax / numpy": seconds["jax"] / seconds["numpy"],
        "jax / native": seconds["jax"] / two,
        "threads, 1 / 2": seconds["native, 1 thread"] / two,
    }


def main() -> None:
    """Measures, prints and writes."""
    results: dict[str, Any] = {
        "version": version("tsgrad"),
        "instructions": native.compiled().instruction_sets()[0],
    }
    for setting, (problem, horizon, episodes) in SETTINGS.items():
        for pair in ("mean/oracle", "mean/self"):
            found = results[f"{setting}, {pair}"] = compared(problem, horizon, episodes, pair)
            ratios = ", ".join(f"{name} {value:.2f}" for name, value in found.items() if name != "seconds")
            print(
                f"{setting:8} {pair:11} {1000 * found['seconds']['native, 2 threads']:7.2f} ms   {ratios}", flush=True
            )
    results["peak gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory {results['peak gigabytes']:.2f} GB")
    write("gradient", results)


if __name__ == "__main__":
    main()
