"""What training under the conditions of a deployment gains, in seven of them: against plain Thompson sampling, every
rival that applies, and the policy that was trained without conditions, on the same episodes. For 140,000 users that is
the pretrained policy: to train one of its own, user by user, would take days. Rivals that plan every step anew, which
takes a hundred microseconds and more, play no more episodes than 200,000 plans make.

    python benchmarks/conditions.py [a "a in proportion" b "b with floor and delay" c d e f g] [--episodes 50000]
"""

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

import tsgrad as tg
from measure import write
from tsgrad.experiments import setting_named


class Case(NamedTuple):
    """A problem, how many steps, and how it is run."""

    problem: Any
    horizon: int
    conditions: tg.Conditions
    others: tuple[str, ...] = ()  # rivals that only matter here


def cases() -> dict[str, Case]:
    """All seven, by their letters."""
    standard, hetero, many = (setting_named(name) for name in ("standard", "hetero", "many"))
    week = tg.BernoulliBandit(alpha=2.0, beta=498.0, arms=10)
    visits = [[1, 200]] * 4 + [[1, 100]] * 3 + [[101, 200]] * 3
    contexts = tg.LinearBandit(features=tg.GaussianContexts(arms=10, dimension=5))
    return {
        "a": Case(standard.problem, 10, tg.Conditions(batch=50)),
        "a in proportion": Case(standard.problem, 10, tg.Conditions(batch=50, allocation="proportional")),
        "b": Case(week, 7, tg.Conditions(batch=20_000)),
        "b with floor and delay": Case(week, 7, tg.Conditions(batch=20_000, floor=0.02, delay=1)),
        "c": Case(standard.problem, standard.horizon, tg.Conditions(delay=20)),
        "d": Case(hetero.problem, hetero.horizon, tg.Conditions(floor=0.05)),
        "e": Case(many.problem, many.horizon, tg.Conditions(after=100)),
        "f": Case(tg.GaussianBandit(arms=10), 200, tg.Conditions(available=visits)),
        "g": Case(contexts, 10, tg.Conditions(batch=20), ("information-directed sampling",)),
    }


RIVALS = {
    "A/B test": tg.ABTest,
    "explore, then commit": tg.ExploreThenCommit,
    "successive elimination": tg.SuccessiveElimination,
    "batch knowledge gradient": tg.BatchKnowledgeGradient,
    "residual horizon": tg.ResidualHorizon,
    "greedy": tg.Greedy,
    "Bayes-UCB": tg.BayesUCB,
    "Gittins": tg.FiniteHorizonGittins,
    "knowledge gradient": tg.KnowledgeGradient,
}


OTHERS = {"information-directed sampling": tg.InformationDirected}  # where users differ, the best that was published
SLOW = ("batch knowledge gradient", "residual horizon", *OTHERS)
PLANS = 200_000


def applicable(case: Case) -> dict[str, Any]:
    """The rivals that are defined for a case."""
    found = {}
    for name, build in {**RIVALS, **{name: OTHERS[name] for name in case.others}}.items():
        try:
            tg.simulate(case.problem, build(), horizon=case.horizon, episodes=1, seed=0, conditions=case.conditions)
        except tg.BadInput as reason:
            print(f"  without {name}: {reason}")
            continue
        found[name] = build()
    if case.conditions.available is not None and "Gittins" in found:
        found["Gittins by schedule"] = scheduled_gittins(case)
    return found


def scheduled_gittins(case: Case) -> tg.IndexPolicy:
    """The index of every arm with the steps that are left while it is there, in place of those of the experiment."""
    table = tg.FiniteHorizonGittins().prepare(case.problem, case.horizon).table
    left = np.cumsum(case.conditions.mask(case.horizon)[::-1], axis=0)[::-1]
    rows = np.broadcast_to(np.arange(len(table)), left.shape[1])[:, None]  # arms that are alike share one
    return tg.IndexPolicy(table=table[rows, case.horizon - np.maximum(left, 1).T])


def trained_without(case: Case) -> tg.Policy:
    """The policy of somebody who doesn't think of the conditions."""
    users = case.conditions.users(case.horizon)
    return tg.train(case.problem, horizon=users, seed=0).policy if users <= 1000 else tg.pretrained("bernoulli")


def _above(comparison: tg.Comparison, policy: str) -> list[float]:
    gain, error = comparison.difference(policy, "trained")
    return [float(gain), float(error)]


def main() -> None:
    """Prints a table for each case, and writes what it found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--episodes", type=int, default=50_000)
    options = parser.parse_args()
    for name, case in cases().items():
        if options.names and name not in options.names:
            continue
        print(f"{name}: {case.conditions.words(case.horizon)}", flush=True)
        began = time.perf_counter()
        trained = tg.train(case.problem, horizon=case.horizon, seed=0, conditions=case.conditions)
        seconds = time.perf_counter() - began
        without = trained_without(case)
        rivals = applicable(case)
        few = PLANS // (case.conditions.users(case.horizon) if case.others else case.horizon)  # a user's, or a step's
        slow = {rival: rivals.pop(rival) for rival in SLOW if few < options.episodes and rival in rivals}
        found: dict[str, Any] = {"seconds of training": seconds}
        ours = {"trained": trained.policy}
        parts = [(options.episodes, {"Thompson": tg.Thompson(), **ours, "without": without, **rivals})]
        if slow:
            parts.append((few, {**ours, **slow}))
        for episodes, policies in parts:
            comparison = tg.compare(
                case.problem,
                policies,
                horizon=case.horizon,
                episodes=episodes,
                seed=1,
                reference="trained",
                conditions=case.conditions,
            )
            print(comparison, flush=True)
            found[f"{episodes} episodes"] = {
                policy: {
                    "regret": comparison.regret[policy],
                    "above trained, standard error": _above(comparison, policy),
                }
                for policy in policies
            }
        print(f"trained in {seconds:.0f} s, by {trained.provenance['estimator']}", flush=True)
        write(f"conditions, {name}", found)


if __name__ == "__main__":
    main()
