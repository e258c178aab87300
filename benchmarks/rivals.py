"""Rivals: microseconds per decision, regrets of the paper's settings beside known ones, the time of the rival table."""

import argparse
import time
from typing import Any

import numpy as np

import tsgrad as tg
from measure import write

SETTINGS = {
    "standard": (tg.GaussianBandit(arms=10), 500, 20_000),
    "hetero": (tg.GaussianBandit(noise_std=[0.1, 0.4, 1.0, 4.0, 10.0]), 50, 10_000),
    "many": (tg.GaussianBandit(arms=20), 20, 10_000),
}
TABLE = {  # the rival table of the standard setting
    "Thompson": tg.Thompson(),
    "scaled 0.7": tg.ScaledThompson(0.7),
    "Bayes-UCB": tg.BayesUCB(),
    "OGI": tg.OptimisticGittins(),
    "OGI, left": tg.OptimisticGittins("left"),
    "Gittins": tg.FiniteHorizonGittins(),
    "knowledge gradient": tg.KnowledgeGradient(),
    "IRS.FH": tg.RelaxationSampling("FH"),
    "greedy": tg.Greedy(),
}
OTHERS = {
    "uniform": tg.Uniform(),
    "V-IDS": tg.InformationDirected(),
    "IDS": tg.InformationDirected("mutual"),
    "IRS.V-Zero": tg.RelaxationSampling("V-Zero"),
    "IRS.INDEX": tg.RelaxationSampling("INDEX"),
    "satisficing 0.5": tg.SatisficingThompson(0.5),
    "top-two": tg.TopTwoThompson(0.5),
}


def played(setting: str, policy: tg.Policy, episodes: int) -> dict[str, float]:
    """Regret and seconds, the time of tables and compilation included."""
    problem, horizon, _ = SETTINGS[setting]
    start = time.perf_counter()
    regret = tg.simulate(problem, policy, horizon=horizon, episodes=episodes, seed=1).regret
    seconds = time.perf_counter() - start
    error = float(np.std(regret) / np.sqrt(episodes))
    return {"regret": float(regret.mean()), "standard error": error, "seconds": seconds, "episodes": episodes}


def a_decision(setting: str, policy: tg.Policy, episodes: int) -> float:
    """Microseconds per decision once everything is compiled and every table known."""
    problem, horizon, _ = SETTINGS[setting]
    policy = policy.prepare(problem, horizon)
    for _ in range(2):  # the first to warm up
        start = time.perf_counter()
        tg.simulate(problem, policy, horizon=horizon, episodes=episodes, seed=2)
        seconds = time.perf_counter() - start
    return 1e6 * seconds / (episodes * horizon)


def main() -> None:
    """Measures, prints and writes; with --full every rival plays all episodes of every setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all episodes for slow rivals too: about 20 minutes")
    full = parser.parse_args().full
    results: dict[str, Any] = {}
    for name, policy in {**TABLE, **OTHERS}.items():
        micros = a_decision("hetero", policy, 512)
        results[name] = {"microseconds per decision": micros}
        print(f"{name:20} {micros:9.3f} us a decision (hetero, K = 5, T = 50)", flush=True)
    start = time.perf_counter()
    for name, policy in TABLE.items():
        found = results[name]["standard"] = played("standard", policy, SETTINGS["standard"][2])
        print(
            f"{name:20} {found['regret']:9.3f} ({found['standard error']:.3f})  {found['seconds']:6.1f} s", flush=True
        )
    results["table, seconds"] = time.perf_counter() - start
    print(f"the rival table of the standard setting, 20,000 episodes: {results['table, seconds']:.1f} s")
    ids = results["V-IDS"]["standard"] = played("standard", OTHERS["V-IDS"], 20_000 if full else 2_048)
    print(f"V-IDS, standard, {ids['episodes']:,} episodes: {ids['regret']:.3f} ({ids['standard error']:.3f}), ", end="")
    print(f"{ids['seconds']:.1f} s")
    if full:
        for setting in ("hetero", "many"):
            for name, policy in {**TABLE, **OTHERS}.items():
                found = results[name][setting] = played(setting, policy, SETTINGS[setting][2])
                print(f"{setting:8} {name:20} {found['regret']:9.3f} ({found['standard error']:.3f})", flush=True)
    write("rivals", results)


if __name__ == "__main__":
    main()
