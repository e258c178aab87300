"""Where no index is known to be optimal: trained policies against every rival that applies, on the same episodes.

    python benchmarks/no_index.py [contexts] [correlated] [logistic] [variance] [--episodes 50000]

Every policy that needs no training is prepared for the problem, the bonus law and the paper's family are trained by the
default recipe, and all are compared, paired. A rival whose steps take hundreds of times as long as Thompson's
(information-directed sampling) plays a tenth of the episodes, against the bonus law on the same ones.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tsgrad as tg
from measure import write
from tsgrad.experiments import applicable_rivals


def contexts() -> tuple[Any, int]:
    """Linear rewards of features that are drawn anew at every step."""
    return tg.LinearBandit(features=tg.GaussianContexts(arms=10, dimension=5)), 50


def correlated() -> tuple[Any, int]:
    """Thirty arms in five dimensions."""
    return tg.LinearBandit(features=np.random.default_rng(0).standard_normal((30, 5)) / np.sqrt(5)), 100


def logistic() -> tuple[Any, int]:
    """Clicks whose log-odds are linear in features that are drawn anew at every step."""
    return tg.LogisticBandit(features=tg.GaussianContexts(arms=5, dimension=5)), 50


def variance() -> tuple[Any, int]:
    """Gaussian arms of unknown noise."""
    return tg.UnknownVarianceBandit(arms=5), 50


PROBLEMS: dict[str, Callable[[], tuple[Any, int]]] = {
    "contexts": contexts,
    "correlated": correlated,
    "logistic": logistic,
    "variance": variance,
}
SLOW = ("IDS",)


def measured(name: str, episodes: int) -> dict[str, Any]:
    """Regrets by policy, and how far each is above the bonus law, with paired standard errors."""
    problem, horizon = PROBLEMS[name]()
    policies: dict[str, tg.Policy] = {"TS": tg.Thompson(), "greedy": tg.Greedy()}
    rivals = applicable_rivals(problem, horizon)
    policies.update(rivals.ready)
    seconds = {}
    for family, start in (("bonus", None), ("reshaped", tg.ReshapedThompson(problem))):
        began = time.perf_counter()
        policies[family] = tg.train(problem, start, horizon=horizon, progress=False).policy
        seconds[family] = round(time.perf_counter() - began, 1)
    found: dict[str, Any] = {"seconds of training": seconds, "left out": rivals.left_out}
    options: dict[str, Any] = {"horizon": horizon, "seed": 2024}
    bonus = tg.simulate(problem, policies["bonus"], episodes=episodes, **options).regret
    for rival, policy in policies.items():
        played = episodes // 10 if rival in SLOW else episodes
        regret = tg.simulate(problem, policy, episodes=played, **options).regret
        above = regret - bonus[:played]
        found[rival] = {
            "regret": round(float(np.mean(regret)), 4),
            "above the bonus law": round(float(np.mean(above)), 4),
            "standard error": round(float(np.std(above) / np.sqrt(played)), 4),
            "episodes": played,
        }
        print(name, rival, found[rival], flush=True)
    print(name, "seconds of training", seconds, "left out", rivals.left_out, flush=True)
    return found


def main() -> None:
    """Trains, compares, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--episodes", type=int, default=50_000)
    given = parser.parse_args()
    for name in given.problems:
        write(f"no index, {name}", measured(name, given.episodes))


if __name__ == "__main__":
    main()
