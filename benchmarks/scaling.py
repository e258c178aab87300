"""How time and memory of the native engine grow: with episodes, steps and arms, over a factor of 16 each."""

import resource
from typing import Any

import tsgrad as tg
from measure import fastest, write

BASE = {"episodes": 16384, "horizon": 64, "arms": 8}


def gradient(*, episodes: int, horizon: int, arms: int) -> object:
    """One gradient by mean/oracle."""
    problem = tg.GaussianBandit(arms=arms)
    policy, estimator = tg.ReshapedThompson(problem), tg.Estimator("mean", "oracle")
    return tg.gradient(problem, policy, estimator, horizon=horizon, episodes=episodes, seed=0, engine="native")


def peak_megabytes() -> float:
    """The most memory that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    """Measures, prints and writes."""
    results: dict[str, Any] = {}
    gradient(**BASE)
    for name in BASE:
        before = peak_megabytes()
        sizes = {factor: {**BASE, name: BASE[name] * factor} for factor in (1, 4, 16)}
        seconds = fastest(
            {str(factor): lambda size=size: gradient(**size) for factor, size in sizes.items()}, repeats=3
        )
        growth = {factor: seconds[factor] / seconds["1"] / int(factor) for factor in seconds}
        results[name] = {"time / linear": growth, "megabytes added": peak_megabytes() - before}
        shown = ", ".join(f"x{factor} {value:.2f}" for factor, value in growth.items())
        print(f"{name:8} time over linear: {shown}; memory +{results[name]['megabytes added']:.1f} MB", flush=True)
    problem = tg.GaussianBandit(noise_std=[0.1, 0.4, 1.0, 4.0, 10.0])

    def training() -> object:
        estimator = tg.Estimator("mean", "self")
        return tg.train(problem, tg.ReshapedThompson(problem), estimator, horizon=50, episodes=1000, seed=0)

    results["training, 1,000 iterations, seconds"] = fastest({"training": training}, repeats=1)["training"]
    print(f"1,000 iterations of the heteroscedastic setting: {results['training, 1,000 iterations, seconds']:.1f} s")
    write("scaling", results)


if __name__ == "__main__":
    main()
