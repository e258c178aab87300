"""CMA-ES on the parameters of a sampling policy, and training on the same: regret against seconds.

    python benchmarks/cma_es.py [standard] [hetero] [many] [--seconds 16] [--seed 0]

Both start from plain Thompson sampling and see episodes of the same simulator, none of them twice. The strategy judges
all candidates of a generation on the same episodes. What counts is the regret of its mean, as what counts in training
is that of the policy at hand: of the first on 20,000 fresh episodes, measured when the clock has stopped, of the second
on the batches of ten iterations, which are fresh, too.
"""

import argparse
import time
from typing import Any, NamedTuple

import cma
import numpy as np

import tsgrad as tg
from measure import write
from tsgrad.experiments import SETTINGS, setting_named

MOMENTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # seconds at which curves are read
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


def regrets_of_means(
    points: list[Point], moments: tuple[float, ...], problem: Any, *, horizon: int, seed: int
) -> dict[float, float]:
    """The regret of the last policy that was there at each moment, on 20,000 fresh episodes."""
    found = {}
    for moment in moments:
        policy = [point.policy for point in points if point.seconds <= moment][-1]
        found[moment] = float(tg.simulate(problem, policy, horizon=horizon, episodes=20_000, seed=seed).regret.mean())
    return found


def regrets_in_training(
    problem: Any, policy: tg.SamplingPolicy, moments: tuple[float, ...], **options: Any
) -> dict[float, float]:
    """The regret of training's policies at each moment that it lasts to, on the batches of ten iterations up to then.

    Args:
        problem: what is played.
        policy: to start from.
        moments: seconds since training started.
        options: of `tsgrad.train`.

    Returns:
        Regret by moment.

    """
    start, seconds = time.perf_counter(), [0.0]
    run = tg.train(problem, policy, progress=lambda iteration: seconds.append(time.perf_counter() - start), **options)
    regrets = [row.regret for row in run.history if row.regret is not None]
    there = {moment: int(np.searchsorted(seconds[: len(regrets)], moment)) for moment in moments}
    return {
        moment: float(np.mean(regrets[max(0, count - 10) : count]))
        for moment, count in there.items()
        if 0 < count < len(regrets)
    }


def main() -> None:
    """Searches, trains, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", default=list(SETTINGS))
    parser.add_argument("--seconds", type=float, default=16.0, help="of search")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name in given.settings:
        setting = setting_named(name)
        problem, policy = setting.problem, tg.ReshapedThompson(setting.problem)
        where = {"horizon": setting.horizon, "seed": given.seed}
        moments = tuple(moment for moment in MOMENTS if moment <= given.seconds)
        points = minimised(problem, policy, seconds=given.seconds, **where)
        curves = {
            "CMA-ES": regrets_of_means(points, moments, problem, **where),
            "training": regrets_in_training(problem, policy, moments, **where),
        }
        for learner, curve in curves.items():
            told = ", ".join(f"{moment:g} s {regret:.2f}" for moment, regret in curve.items())
            print(f"{name}, seed {given.seed}, {learner}: {told}", flush=True)
        write(f"CMA-ES, {name}, seed {given.seed}", curves)


if __name__ == "__main__":
    main()
