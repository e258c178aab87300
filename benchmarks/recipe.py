"""The recipe of `tsgrad.train`, with four rollouts, in the paper's settings: regret over the paper's best, by seed.

    python benchmarks/recipe.py [standard] [hetero] [many]

Regrets are of 100,000 fresh episodes a seed, of the policy at the end of training and of the selected one. Less than
one is better than the best policy that the paper trained. All takes about half an hour on two cores, most of it in
the standard setting.
"""

import sys

import numpy as np
from measure import write

import tsgrad as tg
from tsgrad.experiments import SETTINGS, Setting, setting_named

SEEDS = range(5)


def regret(setting: Setting, policy: tg.Policy, seed: int) -> float:
    """On fresh episodes."""
    found = tg.simulate(setting.problem, policy, horizon=setting.horizon, episodes=100_000, seed=seed)
    return float(np.mean(found.regret))


def main() -> None:
    """Trains, prints and writes."""
    for name in sys.argv[1:] or SETTINGS:
        setting = setting_named(name)
        printed = min(row.regret for row in setting.trained.values())
        found: dict[str, list[float]] = {"last": [], "selected": []}
        for seed in SEEDS:
            policy, estimator = tg.ReshapedThompson(setting.problem), tg.Estimator("mean", "self", rollouts=4)
            run = tg.train(setting.problem, policy, estimator, horizon=setting.horizon, seed=seed)
            found["last"].append(regret(setting, run.last, seed))
            found["selected"].append(regret(setting, run.policy, seed))
            print(
                f"{name}, seed {seed}: last {found['last'][-1]:.2f}, selected {found['selected'][-1]:.2f}", flush=True
            )
        worst = {policy: max(regrets) / printed for policy, regrets in found.items()}
        print(f"{name}: worst over the paper's best: last {worst['last']:.3f}, selected {worst['selected']:.3f}")
        write(f"recipe, {name}", {"worst / the paper's best": worst, "regrets": found})


if __name__ == "__main__":
    main()
