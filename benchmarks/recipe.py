"""The recipe of `tsgrad.train` as it comes, by seed, beside the best index on the same episodes.

    python benchmarks/recipe.py [standard] [hetero] [many] [bernoulli]

Regrets are of 100,000 fresh episodes, the same for all policies and seeds of training; standard errors of differences
from the finite-horizon Gittins index are paired. Beside them, plain Thompson sampling and the regret that no policy can
go below. All takes about five minutes on two cores.
"""

import sys
import time
from typing import Any

import numpy as np

import tsgrad as tg
from measure import write
from tsgrad.experiments import SETTINGS, setting_named

SEEDS = range(5)
EPISODES, SEED = 100_000, 2024


def problem_named(name: str) -> tuple[Any, int]:
    """A setting of the paper, or two Bernoulli arms, with its horizon."""
    if name == "bernoulli":
        return tg.BernoulliBandit(arms=2), 50
    setting = setting_named(name)
    return setting.problem, setting.horizon


def known_ends(problem: Any, horizon: int) -> dict[str, float]:
    """Plain Thompson sampling, on ten times as many episodes, and the regret that no policy can go below."""
    plain = tg.simulate(problem, tg.Thompson(), horizon=horizon, episodes=10 * EPISODES, seed=SEED)
    kind: Any = "optimum" if isinstance(problem, tg.BernoulliBandit) else "V-Zero"
    limit = tg.regret_bound(problem, horizon=horizon, kind=kind, episodes=4096, seed=SEED)
    return {"Thompson": float(np.mean(plain.regret)), "limit": limit.regret}


def main() -> None:
    """Trains, prints and writes."""
    for name in sys.argv[1:] or (*SETTINGS, "bernoulli"):
        problem, horizon = problem_named(name)

        def regrets(policy: tg.Policy, problem: Any = problem, horizon: int = horizon) -> Any:
            return tg.simulate(problem, policy, horizon=horizon, episodes=EPISODES, seed=SEED).regret

        gittins = regrets(tg.FiniteHorizonGittins())
        ends = {**known_ends(problem, horizon), "Gittins": float(np.mean(gittins))}
        found: dict[str, list[float]] = {"regret": [], "seconds": [], "above Gittins": [], "standard error": []}
        for seed in SEEDS:
            began = time.perf_counter()
            run = tg.train(problem, horizon=horizon, seed=seed, progress=False)
            found["seconds"].append(time.perf_counter() - began)
            trained = regrets(run.policy)
            above = trained - gittins
            found["regret"].append(float(np.mean(trained)))
            found["above Gittins"].append(float(np.mean(above)))
            found["standard error"].append(float(np.std(above) / np.sqrt(EPISODES)))
            print(
                name, f"seed {seed}:", ", ".join(f"{key} {values[-1]:.3f}" for key, values in found.items()), flush=True
            )
        print(f"{name}: worst {max(found['regret']):.3f}, Gittins {ends['Gittins']:.3f}", flush=True)
        write(f"recipe, {name}", {**found, **ends})


if __name__ == "__main__":
    main()
