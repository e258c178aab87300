"""Whether intervals hold as often as they say, and tests raise false alarms as often as they may: 2,000 repeats each.

    python benchmarks/coverage.py [repeats] [PART ...]

Many episodes are simulated once and split; what is true is the average of all of them. 95% intervals should hold in 94
to 96% of repeats, tests at 5% raise 4 to 6% false alarms (a standard error of 0.5% each). The verdict of `diagnose`
corrects for its two tests by Bonferroni, and so does that of rewards for its many where posteriors are exact: these may
raise fewer.
"""

import sys
from typing import Any

import numpy as np

import tsgrad as tg
from measure import write
from tsgrad.evaluate import FEWEST_EPISODES
from tsgrad.evaluate.diagnosis import Seen, judged
from tsgrad.evaluate.statistics import paired_gains

HORIZON, LEVEL = 10, 0.05
PART = 200  # repeats that are simulated at once
Z = 1.959964


def comparisons(repeats: int, episodes: int = 256) -> dict[str, float]:
    """Intervals of two gains that hold together, and p-values of a gain that is none."""
    problem = tg.GaussianBandit(arms=3)
    where: dict[str, Any] = {"horizon": HORIZON, "episodes": repeats * episodes}
    policies = {"plain": tg.Thompson(), "ucb": tg.BayesUCB(), "scaled": tg.ScaledThompson(0.5)}
    regrets = {name: tg.simulate(problem, policy, seed=0, **where).regret for name, policy in policies.items()}
    again = tg.simulate(problem, tg.Thompson(), seed=1, **where).regret
    truth = {name: float(np.mean(regrets["plain"] - regret)) for name, regret in regrets.items() if name != "plain"}
    held = alarms = 0
    for start in range(0, repeats * episodes, episodes):
        part = slice(start, start + episodes)
        gains = paired_gains(regrets["plain"][part], {name: regrets[name][part] for name in truth}, 1 - LEVEL)
        held += all(gain.low <= truth[name] <= gain.high for name, gain in gains.items())
        alarms += paired_gains(regrets["plain"][part], {"again": again[part]}, 1 - LEVEL)["again"].p_value < LEVEL
    return {"intervals hold": held / repeats, "false alarms": alarms / repeats}


def bounds(repeats: int) -> dict[str, float]:
    """V-Zero from the fewest episodes that it takes."""
    found = [
        tg.regret_bound(tg.GaussianBandit(arms=3), horizon=HORIZON, episodes=FEWEST_EPISODES, seed=seed)
        for seed in range(1, repeats + 1)
    ]
    truth = float(np.mean([bound.regret for bound in found]))
    held = [abs(bound.regret - truth) <= Z * bound.standard_error for bound in found]
    below = [bound.regret <= truth + 1.644854 * bound.standard_error for bound in found]
    return {"intervals hold": float(np.mean(held)), "is below, by the one-sided interval": float(np.mean(below))}


def gradients(repeats: int, episodes: int = 1000) -> dict[str, float]:
    """Standard errors of gradients, over all meta-parameters."""
    problem = tg.GaussianBandit(arms=3)
    policy = tg.ReshapedThompson(problem)
    found = {}
    for pair in ("obs/null", "mean/self", "bayes/oracle"):
        where: dict[str, Any] = {"horizon": HORIZON, "episodes": repeats * episodes, "seed": 0}
        each = tg.episode_gradients(problem, policy, {pair: tg.Estimator(*pair.split("/"))}, **where)[pair]
        parts = each.reshape(repeats, episodes, -1)
        error = parts.std(axis=1, ddof=1) / np.sqrt(episodes)
        moves = np.all(error > 0, axis=0)
        held = np.abs(parts.mean(axis=1) - each.mean(axis=0)) <= Z * error
        found[pair] = float(held[:, moves].mean())
    return found


def diagnoses(problem: Any, repeats: int, episodes: int = 256) -> dict[str, float]:
    """Alarms on a model that is right, by each test and in all."""
    policy = tg.ReshapedThompson(problem)
    names = tg.parameter_names(policy)
    alarms = np.zeros(3)
    for first in range(0, repeats, PART):
        number = min(PART, repeats - first)
        seen = _seen(problem, policy, number * episodes, seed=2 * first)
        usual = None if problem.exact_posterior else _seen(problem, policy, number * episodes, seed=2 * first + 1)
        for start in range(0, number * episodes, episodes):
            part = (start, start + episodes)
            verdict = judged(seen.part(*part), usual and usual.part(*part), names=names, level=LEVEL)
            alarms += [verdict.gradient.p_joint < LEVEL, verdict.p_innovations < LEVEL, verdict.model_is_wrong]
    return dict(zip(("gradient", "rewards", "verdict"), (alarms / repeats).tolist(), strict=True))


def _seen(problem: Any, policy: Any, episodes: int, seed: int) -> Seen:
    where: dict[str, Any] = {"horizon": 5, "episodes": episodes, "seed": seed}
    played = tg.simulate(problem, policy, trajectories=True, **where).trajectories
    assert played is not None
    workload = tg.Workload(purpose=tg.Purpose.EVALUATION, **where)
    return Seen.of(problem, policy, tg.Recorded.of(played), workload)


def main() -> None:
    """Counts, prints and writes."""
    given = sys.argv[1:]
    repeats = int(given.pop(0)) if given and given[0].isdigit() else 2000
    logistic = tg.LogisticBandit(features=[[1.0, 0.0], [0.6, 0.8], [-0.6, 0.8]], prior_covariance=9.0)
    counts = {
        "comparisons": lambda: comparisons(repeats),
        "bounds": lambda: bounds(repeats),
        "gradients": lambda: gradients(repeats),
        "diagnose, exact posterior": lambda: diagnoses(tg.GaussianBandit(arms=3), repeats),
        "diagnose, approximate posterior": lambda: diagnoses(logistic, repeats),
    }
    for name in given or counts:
        found = counts[name]()
        print(name, {what: round(share, 4) for what, share in found.items()}, flush=True)
        write(f"coverage, {name}", found)


if __name__ == "__main__":
    main()
