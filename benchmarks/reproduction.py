"""The paper's trained rows by seed: its estimators and recipe with steps 0.4 as long, beside what it prints.

    python benchmarks/reproduction.py [hetero] [many] [standard]

Each estimator trains once from each of seeds 0 to 4, as `tsgrad reproduce` does, and the last policy of each training
plays 50,000 fresh episodes, the same for all. Medians of the five are held against print: z is their difference in
standard errors, those of both together. It takes three minutes each on one core; the standard setting has a hundred
times as many draws.
"""

import sys
from typing import Any

import numpy as np

import tsgrad as tg
from measure import write
from tsgrad.experiments import Printed, Setting, setting_named
from tsgrad.experiments.assembly import compared_with_print
from tsgrad.experiments.plan import Plan
from tsgrad.experiments.settings import paper_estimator

SEEDS = range(5)
EPISODES, SEED = 50_000, 2024


def regret_of(setting: Setting, pair: str, seed: int) -> tuple[float, float]:
    """Of the last policy of a training, with its standard error."""
    settings = Plan(name=setting.name, seed=seed).training_settings("paper")
    start = tg.ReshapedThompson(setting.problem)
    run = tg.train(setting.problem, start, paper_estimator(pair), progress=False, **settings)
    played = tg.simulate(setting.problem, run.last, horizon=setting.horizon, episodes=EPISODES, seed=SEED)
    return float(np.mean(played.regret)), float(np.std(played.regret) / np.sqrt(EPISODES))


def row(setting: Setting, pair: str, printed: Printed) -> dict[str, Any]:
    """All seeds of an estimator, their median, and how it compares with print."""
    found = sorted(regret_of(setting, pair, seed) for seed in SEEDS)
    median, error = found[len(found) // 2]
    z, verdict = compared_with_print(median, error, printed)
    return {
        "seeds, best to worst": [round(regret, 3) for regret, _ in found],
        "median": round(median, 3),
        "standard error": round(error, 3),
        "printed": printed.regret,
        "printed standard error": printed.standard_error,
        "z": round(z, 2),
        "verdict": verdict,
    }


def main() -> None:
    """Trains, plays, prints and writes."""
    for name in sys.argv[1:] or ("hetero", "many"):
        setting = setting_named(name)
        found = {}
        for pair, printed in setting.trained.items():
            found[pair] = row(setting, pair, printed)
            print(name, pair, found[pair], flush=True)
        write(f"reproduction, {name}", found)


if __name__ == "__main__":
    main()
