"""A published table of Bernoulli arms: total reward, printed and here.

    python benchmarks/published_bernoulli.py [--steps 10 100 500] [--arms 5 10 50] [--episodes 20000]

Arms with uniform priors, n steps, k arms. Printed: Thompson sampling, Gittins indices and RL2, a recurrent network
trained by policy gradient. Here: Thompson sampling, finite-horizon Gittins indices where their table is not too large,
and a trained policy. A mean total reward is n E max theta, which is known exactly, less mean regret, which varies less
from episode to episode than rewards do.
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tsgrad as tg
from measure import write


class Printed(NamedTuple):
    """Mean total rewards."""

    thompson: float
    gittins: float
    rl2: float


# Duan, Schulman, Chen, Bartlett, Sutskever, Abbeel (2016), "RL^2: Fast Reinforcement Learning via Slow Reinforcement
# Learning", arXiv 1611.02779, the table of multi-armed bandits: by (n, k). Kept from notes, not held against the paper.
PRINTED = {
    (10, 5): Printed(5.7, 6.6, 6.7),
    (10, 10): Printed(5.5, 6.6, 6.7),
    (10, 50): Printed(5.2, 6.5, 6.8),
    (100, 5): Printed(74.7, 78.3, 78.7),
    (100, 10): Printed(76.7, 82.8, 83.5),
    (100, 50): Printed(64.5, 85.2, 84.9),
    (500, 5): Printed(402.0, 405.8, 401.6),
    (500, 10): Printed(429.5, 437.8, 432.5),
    (500, 50): Printed(427.2, 463.7, 438.9),
}
PRINTED_EPISODES = 1000  # that the authors' code plays of each policy without training

Train = Callable[[tg.BernoulliBandit, int], tg.Policy]


def as_it_comes(problem: tg.BernoulliBandit, horizon: int) -> tg.Policy:
    """The default of training."""
    return tg.train(problem, horizon=horizon, seed=0, progress=False).policy


def total_reward(problem: tg.BernoulliBandit, policy: tg.Policy, horizon: int, episodes: int) -> dict[str, float]:
    """Mean total reward on fresh episodes, its standard error, and that of a mean of rewards as the table's are."""
    played = tg.simulate(problem, policy, horizon=horizon, episodes=episodes, seed=1)
    return {
        "reward": horizon * problem.expected_best_mean() - float(played.regret.mean()),
        "standard error": float(played.regret.std() / np.sqrt(episodes)),
        "standard error of print": float(played.reward.std() / np.sqrt(PRINTED_EPISODES)),
    }


def row(steps: int, arms: int, *, episodes: int, train: Train) -> dict[str, Any]:
    """Rewards here; without Gittins where the table of its indices would be too large."""
    problem = tg.BernoulliBandit(arms=arms)
    policies = {"thompson": tg.Thompson(), "trained": train(problem, steps)}
    try:
        policies["gittins"] = tg.FiniteHorizonGittins().prepare(problem, steps)
    except tg.BadInput as refusal:
        print(f"n {steps}, k {arms}: no Gittins indices: {refusal}")
    return {name: total_reward(problem, policy, steps, episodes) for name, policy in policies.items()}


def main(train: Train = as_it_comes) -> None:
    """Trains, plays, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, nargs="+", default=[10, 100, 500], choices=[10, 100, 500])
    parser.add_argument("--arms", type=int, nargs="+", default=[5, 10, 50], choices=[5, 10, 50])
    parser.add_argument("--episodes", type=int, default=20_000)
    given = parser.parse_args()
    print("mean total reward (standard error); printed in brackets []")
    for steps in given.steps:
        for arms in given.arms:
            printed = PRINTED[steps, arms]
            found = row(steps, arms, episodes=given.episodes, train=train)
            told = {
                name: f"{found[name]['reward']:.2f} ({found[name]['standard error']:.2f})" if name in found else "--"
                for name in ("thompson", "gittins", "trained")
            }
            error = np.hypot(found["trained"]["standard error"], found["trained"]["standard error of print"])
            ahead = (found["trained"]["reward"] - printed.rl2) / error
            print(
                f"n {steps:3}, k {arms:2}: Thompson {told['thompson']} [{printed.thompson}], Gittins {told['gittins']}"
                f" [{printed.gittins}], trained {told['trained']} [RL2 {printed.rl2}],"
                f" {ahead:+.1f} standard errors from RL2",
                flush=True,
            )
            write(f"published Bernoulli, n {steps}, k {arms}", {**found, "printed": printed._asdict()})


if __name__ == "__main__":
    main()
