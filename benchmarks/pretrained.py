"""The pretrained policies: one set of numbers for all Gaussian bandits, one for all Bernoulli bandits.

    python benchmarks/pretrained.py train [gaussian] [bernoulli]     # writes them into the package
    python benchmarks/pretrained.py test [gaussian] [bernoulli]      # on 30 problems that took no part in training

They are bonus laws of a higher degree, scaled to the whole range of horizons and strengths and not to one problem's.
Every iteration sees other problems, drawn at random: arms from 2 to 50, horizons from 5 to 1,000, priors from a
hundredth to a hundred times as wide as the noise, and Beta priors of means from 0.01 to 0.9. What falls is the mean
logarithm of regret, by the natural gradient. Training takes a quarter of an hour a family on two cores.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import optax

import tsgrad as tg
from measure import write
from tsgrad.policies import Bonus
from tsgrad.training.optimizer import natural

FOLDER = Path(tg.__file__).parent / "policies" / "shipped"
DEGREE = 6
SCALES = {
    "gaussian": {"most_left": 1000, "least_known": 1e-4, "most_known": 1.1e4},
    "bernoulli": {"most_left": 1000, "least_known": 1.0, "most_known": 2e3, "ceiling": 1.0},
}
ITERATIONS, PROBLEMS, EPISODES = 150, 24, 256
TRAINING, TESTING = 0, 1  # seeds of the problems
TESTED, TESTED_EPISODES = 30, 20_000
MOST_DRAWS = 200_000_000  # of one policy on one problem: beyond 10,000 arms times steps there are fewer episodes


class Task(NamedTuple):
    """A problem and its horizon."""

    problem: Any
    horizon: int


def random_task(family: str, generator: np.random.Generator, *, training: bool = False) -> Task:
    """One of the problems that a policy must serve; sizes are drawn evenly on a logarithmic scale.

    In training half of the means of Beta priors are drawn evenly, so that it sees enough of those around a half.
    """

    def between(low: float, high: float) -> float:
        return float(np.exp(generator.uniform(np.log(low), np.log(high))))

    arms, horizon = round(between(2, 50)), round(between(5, 1000))
    if family == "gaussian":
        return Task(tg.GaussianBandit(arms=arms, prior_std=between(0.01, 100)), horizon)
    mean, strength = between(0.01, 0.9), between(1.5, 200)
    if training and generator.random() < 0.5:
        mean = generator.uniform(0.01, 0.9)
    return Task(tg.BernoulliBandit(arms=arms, alpha=mean * strength, beta=(1 - mean) * strength), horizon)


def trained(family: str) -> Bonus:
    """From plain Thompson sampling."""
    terms = np.zeros((DEGREE + 1) * (DEGREE + 2) // 2)
    policy = Bonus(bonus=terms, log_spread=terms, **SCALES[family])
    estimator = tg.Estimator("bayes", "self", rollouts=4)
    optimizer = natural(optax.cosine_decay_schedule(2.0, ITERATIONS))
    generator = np.random.default_rng([TRAINING, len(family)])
    with jax.enable_x64(True):
        vector = tg.parameter_vector(policy)
        state, step = optimizer.init(vector), jax.jit(optimizer.update)
    for iteration in range(ITERATIONS):
        ascent, fisher = np.zeros_like(vector), np.zeros((vector.size, vector.size))
        for number in range(PROBLEMS):
            task = random_task(family, generator, training=True)
            found = tg.gradient(
                task.problem,
                tg.with_parameters(policy, vector),
                estimator,
                horizon=task.horizon,
                episodes=EPISODES,
                seed=iteration * PROBLEMS + number,
                fisher=True,
            )
            ascent += found.mean / found.regret / PROBLEMS  # of minus the logarithm of regret
            fisher += found.fisher / PROBLEMS
        with jax.enable_x64(True):
            updates, state = step(-ascent, state, vector, fisher=fisher)
            vector = vector + np.asarray(updates)
        if iteration % 10 == 0:
            print(family, "iteration", iteration, "largest", round(float(np.max(np.abs(vector))), 2), flush=True)
    return tg.with_parameters(policy, vector)


def tested(family: str) -> dict[str, Any]:
    """Regret over that of the finite-horizon Gittins index and of plain Thompson sampling, problem by problem."""
    policy = tg.pretrained(family)
    generator = np.random.default_rng([TESTING, len(family)])
    of_gittins, of_plain = [], []
    while len(of_gittins) < TESTED:
        task = random_task(family, generator)
        episodes = min(TESTED_EPISODES, MOST_DRAWS // (task.problem.arms * task.horizon))
        rivals = {"pretrained": policy, "plain": tg.Thompson(), "Gittins": tg.FiniteHorizonGittins()}
        try:
            regrets = {
                name: tg.simulate(task.problem, rival, horizon=task.horizon, episodes=episodes, seed=7).regret.mean()
                for name, rival in rivals.items()
            }
        except tg.BadInput as reason:  # the index has no table of that size
            print(family, "left out:", reason)
            continue
        of_gittins.append(regrets["pretrained"] / regrets["Gittins"])
        of_plain.append(regrets["pretrained"] / regrets["plain"])
        print(
            family,
            task.problem.arms,
            task.horizon,
            {name: round(float(r), 4) for name, r in regrets.items()},
            flush=True,
        )
    return {
        "over Gittins, mean": float(np.mean(of_gittins)),
        "over Gittins, worst": float(np.max(of_gittins)),
        "over plain, worst": float(np.max(of_plain)),
    }


def main() -> None:
    """Trains or tests, prints and writes."""
    what, *families = sys.argv[1:]
    for family in families or SCALES:
        if what == "train":
            trained(family).save(FOLDER / f"{family}.json")
        else:
            found = tested(family)
            print(family, found)
            write(f"pretrained, {family}", found)


if __name__ == "__main__":
    main()
