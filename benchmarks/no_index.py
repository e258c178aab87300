"""Where no index is known to be optimal: trained policies against every rival that applies, on the same episodes.

    python benchmarks/no_index.py [contexts] [correlated] [logistic] [variance] [--episodes 50000] [--out runs/no-index]

Every policy that needs no training is prepared for the problem, the bonus law is trained by the default recipe, the
paper's family by the same one with a quarter of the episodes in an iteration (it has eight to ten meta-parameters), and
all are compared, paired. Rivals whose steps take hundreds of times as long as Thompson's (information-directed
sampling, redraws of top-two sampling, plans of every step) play fewer episodes, against the bonus law on the same ones.

Trainings are kept in a folder, and the same command goes on where it was stopped.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tsgrad as tg
from measure import write
from tsgrad.evaluate import applicable_rivals
from tsgrad.training import RunFolder, add_seconds, read_seconds


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
OTHERS: dict[str, Any] = {  # that need no training either; tables of reports leave them out
    "top two": tg.TopTwoThompson,
    "half the spread": lambda: tg.ScaledThompson(0.5),
    "batch KG": tg.BatchKnowledgeGradient,
}
FEWER = {"IDS": 2048, "batch KG": 512, "top two": 2048}  # episodes of rivals that are slow
SLOWEST = {("variance", "IDS"): 512}  # 512 draws of a gamma law for every arm and step
SLOW_STEPS: dict[str, Any] = {"logistic": {"validation_episodes": 4096}}  # a mode is looked for after every reward
RESHAPED: dict[str, Any] = {"episodes": 256, "validation_episodes": 4096}


def trained(problem: Any, start: Any, horizon: int, out: Path, **options: Any) -> tuple[tg.SamplingPolicy, float]:
    """The policy that training finds, and its seconds; with what was done before in this folder."""
    run = RunFolder(out)
    if not run.is_finished:
        began = time.perf_counter()
        try:
            if (out / "config.toml").exists():
                tg.resume(out, progress=False)
            else:
                tg.train(problem, start, horizon=horizon, out=out, progress=False, **options)
        finally:
            add_seconds(out, "training", time.perf_counter() - began)
    return run.run().policy, read_seconds(out)["training"]


def others(problem: Any, horizon: int) -> dict[str, tg.Policy]:
    """Those of `OTHERS` that are defined for a problem."""
    found = {}
    for name, build in OTHERS.items():
        try:
            build().prepare(problem, horizon)
        except tg.BadInput:
            continue
        found[name] = build()  # some plan with what the simulation tells them
    return found


def measured(name: str, episodes: int, out: Path) -> dict[str, Any]:
    """Regrets by policy, and how far each is above the bonus law, with paired standard errors."""
    problem, horizon = PROBLEMS[name]()
    rivals = applicable_rivals(problem, horizon)
    policies: dict[str, tg.Policy] = {"TS": tg.Thompson(), "greedy": tg.Greedy()}
    policies.update(rivals.ready)
    policies.update(others(problem, horizon))
    seconds = {}
    for family, start, options in (
        ("bonus", None, SLOW_STEPS.get(name, {})),
        ("reshaped", tg.ReshapedThompson(problem), RESHAPED),
    ):
        policies[family], seconds[family] = trained(problem, start, horizon, out / f"{name}-{family}", **options)
        print(name, family, "trained,", seconds[family], "s", flush=True)
    left_out = {rival: str(refusal) for rival, refusal in rivals.left_out.items()}
    found: dict[str, Any] = {"seconds of training": seconds, "left out": left_out}
    options = {"horizon": horizon, "seed": 2024}
    bonus = tg.simulate(problem, policies["bonus"], episodes=episodes, **options).regret
    for rival, policy in policies.items():
        played = min(episodes, SLOWEST.get((name, rival), FEWER.get(rival, episodes)))
        regret = bonus if rival == "bonus" else tg.simulate(problem, policy, episodes=played, **options).regret
        above = regret - bonus[:played]
        found[rival] = {
            "regret": round(float(np.mean(regret)), 4),
            "above the bonus law": round(float(np.mean(above)), 4),
            "standard error": round(float(np.std(above) / np.sqrt(played)), 4),
            "episodes": played,
        }
        print(name, rival, found[rival], flush=True)
    return found


def main() -> None:
    """Trains, compares, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--episodes", type=int, default=50_000)
    parser.add_argument("--out", type=Path, default=Path("runs/no-index"))
    given = parser.parse_args()
    for name in given.problems:
        write(f"no index, {name}", measured(name, given.episodes, given.out))


if __name__ == "__main__":
    main()
