"""CMA-ES and training on the same family of policies, the bonus law: regret against seconds.

    python benchmarks/cma_es.py [standard] [hetero] [many] [--seconds 16] [--seeds 3]

Both start from plain Thompson sampling and see episodes of the same simulator. The strategy judges all candidates of a
generation on the same episodes, fresh ones in the next. Training is that of `tsgrad.train` as it comes: where horizons
are long it begins at a shorter one, on the clock. What counts is the regret of its mean, and of the policy that
training has at that moment, on 20,000 fresh episodes, measured when the clock has stopped.
"""

import argparse
import time
from typing import Any, NamedTuple

import cma

import tsgrad as tg
from measure import write
from tsgrad.experiments import SETTINGS, setting_named

MOMENTS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)  # seconds at which curves are read
SEED = 2024  # of fresh episodes
STEP = 0.3  # of the first generation, in the unconstrained units of meta-parameters


class Point(NamedTuple):
    """A policy, and after how many seconds of work it was there."""

    seconds: float
    policy: tg.SamplingPolicy


def minimised(
    problem: Any, policy: tg.SamplingPolicy, *, horizon: int, seconds: float, seed: int, episodes: int = 1024
) -> list[Point]:
    """Minimises regret over the meta-parameters of a policy by CMA-ES.

    Args:
        problem: what is played.
        policy: of the family to search; the search starts at its meta-parameters.
        horizon: steps of an episode.
        seconds: after which the search ends.
        seed: of episodes and of the strategy.
        episodes: on which each candidate is judged; the same for all of a generation, fresh in the next.

    Returns:
        The start and the mean after each generation.

    """
    strategy = cma.CMAEvolutionStrategy(
        tg.parameter_vector(policy),
        STEP,
        {"seed": seed + 1, "verbose": -9},  # its seed 0 would be the clock's
    )
    start, points, generation = time.perf_counter(), [Point(0.0, policy)], 0
    while points[-1].seconds < seconds:
        candidates = strategy.ask()
        regrets = [
            tg.simulate(
                problem,
                tg.with_parameters(policy, candidate),
                horizon=horizon,
                episodes=episodes,
                seed=seed,
                purpose=tg.Purpose.TRAINING,
                iteration=generation,
            ).regret.mean()
            for candidate in candidates
        ]
        strategy.tell(candidates, regrets)
        generation += 1
        points.append(Point(time.perf_counter() - start, tg.with_parameters(policy, strategy.mean)))
    return points


def trained(problem: Any, policy: tg.SamplingPolicy, *, horizon: int, seed: int) -> list[Point]:
    """The start and the policy after each iteration of training, with its defaults, warm-up, checks and all."""
    start, seconds = time.perf_counter(), [0.0]
    run = tg.train(
        problem,
        horizon=horizon,
        seed=seed,
        progress=lambda iteration: seconds.append(time.perf_counter() - start),
    )
    rows = [row for one in (*run.warm_up, run) for row in one.history if row.iteration > 0]
    policies = [policy, *(type(policy)(**row.meta_parameters) for row in rows)]
    return [Point(*point) for point in zip(seconds, policies, strict=True)]


def regrets_at(points: list[Point], problem: Any, *, horizon: int, seconds: float) -> dict[float, float]:
    """The regret of the last policy that was there at each moment, on 20,000 fresh episodes."""
    return {
        moment: float(
            tg.simulate(
                problem,
                [point.policy for point in points if point.seconds <= moment][-1],
                horizon=horizon,
                episodes=20_000,
                seed=SEED,
            ).regret.mean()
        )
        for moment in MOMENTS
        if moment <= seconds
    }


def main() -> None:
    """Searches, trains, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", default=list(SETTINGS))
    parser.add_argument("--seconds", type=float, default=16.0, help="of search")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    for name in given.settings:
        setting = setting_named(name)
        problem, horizon = setting.problem, setting.horizon
        policy = tg.BonusThompson(problem)
        tg.simulate(problem, policy, horizon=horizon, episodes=1, seed=0)  # what is compiled once is not counted
        curves: dict[str, list[dict[float, float]]] = {"CMA-ES": [], "training": []}
        for seed in range(given.seeds):
            searched = minimised(problem, policy, horizon=horizon, seconds=given.seconds, seed=seed)
            for learner, points in (
                ("CMA-ES", searched),
                ("training", trained(problem, policy, horizon=horizon, seed=seed)),
            ):
                curve = regrets_at(points, problem, horizon=horizon, seconds=given.seconds)
                curves[learner].append(curve)
                told = ", ".join(f"{moment:g} s {regret:.2f}" for moment, regret in curve.items())
                print(f"{name}, seed {seed}, {learner} (last at {points[-1].seconds:.1f} s): {told}", flush=True)
        gittins = tg.simulate(problem, tg.FiniteHorizonGittins(), horizon=horizon, episodes=20_000, seed=SEED).regret
        write(f"regret against seconds, {name}", {**curves, "Gittins": float(gittins.mean())})


if __name__ == "__main__":
    main()
