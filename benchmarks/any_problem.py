"""The default training on problems drawn at random, beside everything that needs no training, on the same episodes.

    python benchmarks/any_problem.py [--first 0] [--problems 60] [--set development] [--episodes 8192]

A problem is drawn from its number: a family of rewards, two to thirty arms that are equal or unequal (prior means,
deviations and noise over two orders of magnitude), ten to a thousand steps (forty where the JAX engine plays, twelve
for logistic rewards), with or without batches, delays and floors. The ratio is that of the regret of
`tsgrad.train(problem, horizon=..)` to that of the best rival, paired. The recipe was developed on the set
"development"; the set "held out" has other seeds, and is looked at when all is done.
"""

import argparse
import time
from typing import Any, NamedTuple

import jax
import numpy as np

import tsgrad as tg
from measure import read, write
from tsgrad.evaluate import quick_rivals
from tsgrad.evaluate.rivals import PLANNERS

SETS = {"development": 1_000, "held out": 2_000_000}
ON_JAX = ("poisson", "unknown variance", "linear", "logistic")
FAMILIES = ("gaussian", "bernoulli") * 4 + ON_JAX
LONGEST = {"gaussian": 1000, "bernoulli": 1000, "logistic": 12}  # beliefs of the last are renewed from all rewards
EVALUATION = 4_242
SLOW = {"IDS": 512}  # episodes of rivals whose steps take hundreds of times as long as others


class Drawn(NamedTuple):
    """A problem drawn at random, with its horizon and conditions."""

    family: str
    problem: Any
    horizon: int
    conditions: tg.Conditions

    def __str__(self) -> str:
        said = "" if self.conditions.trivial else f", {self.conditions.words(self.horizon)}"
        return f"{self.family}, {self.problem.arms} arms, {self.horizon} steps{said}"


def drawn(which: str, number: int) -> Drawn:
    """Returns the problem of a number in a set."""
    generator = np.random.default_rng([SETS[which], number])
    family = FAMILIES[number % len(FAMILIES)]
    on_jax = family in ON_JAX
    conditions = tg.Conditions()
    arms = int(np.rint(np.exp(generator.uniform(np.log(2), np.log(10 if on_jax else 30.5)))))
    horizon = int(np.rint(np.exp(generator.uniform(np.log(10), np.log(LONGEST.get(family, 40))))))
    if family not in ("linear", "logistic") and generator.random() < 0.25:
        horizon = int(generator.integers(2, 13))
        floor = {"floor": 0.2 / arms} if generator.random() < 0.3 else {}
        delay = {"delay": 1} if generator.random() < 0.3 else {}
        after = {"after": int(generator.integers(1, 2000))} if generator.random() < 0.3 else {}
        conditions = tg.Conditions(
            batch=int(np.exp(generator.uniform(np.log(5), np.log(2000)))), **floor, **delay, **after
        )
    elif generator.random() < 0.15:
        conditions = tg.Conditions(delay=int(generator.integers(1, 10)))
        horizon = min(horizon, 100)
    unequal = generator.random() < 0.75

    def each(draw: Any, *ends: float) -> Any:
        """One number per arm, the same for all where arms are equal."""
        return draw(*ends, arms) if unequal else np.full(arms, draw(*ends))

    def scales(low: float, high: float) -> Any:
        return np.exp(each(generator.uniform, np.log(low), np.log(high)))

    match family:
        case "gaussian":
            deviation = scales(0.1, 3.0)
            problem: Any = tg.GaussianBandit(
                prior_mean=each(generator.normal, 0.0, 1.0), prior_std=deviation, noise_std=scales(0.1, 10.0)
            )
        case "bernoulli":
            mean, strength = each(generator.uniform, 0.02, 0.7), scales(0.7, 40.0)
            problem = tg.BernoulliBandit(alpha=mean * strength, beta=(1 - mean) * strength)
        case "poisson":
            mean, shape = scales(0.1, 5.0), scales(0.5, 10.0)
            problem = tg.PoissonBandit(shape=shape, rate=shape / mean)
        case "unknown variance":
            problem = tg.UnknownVarianceBandit(
                prior_mean=each(generator.normal, 0.0, 1.0),
                prior_weight=scales(0.1, 5.0),
                shape=each(generator.uniform, 1.5, 5.0),
                rate=scales(0.1, 10.0),
            )
        case "linear" | "logistic":
            dimension = int(generator.integers(2, 7))
            if generator.random() < 0.5:
                features: Any = tg.GaussianContexts(arms=arms, dimension=dimension)
            else:
                features = generator.normal(size=(arms, dimension)) / np.sqrt(dimension)
            covariance = np.diag(np.exp(generator.uniform(np.log(0.1), np.log(3.0), dimension)))
            given = {"features": features, "prior_covariance": covariance}
            problem = (
                tg.LinearBandit(**given, noise_std=float(np.exp(generator.uniform(np.log(0.2), np.log(5.0)))))
                if family == "linear"
                else tg.LogisticBandit(**given)
            )
    return Drawn(family, problem, horizon, conditions)


def rivals_of(case: Drawn) -> dict[str, tg.Policy]:
    """Returns all that needs no training and is defined for a problem; indices where their tables take seconds."""
    found = quick_rivals(case.problem, case.horizon, case.conditions)
    others: dict[str, tg.Policy] = {"TS": tg.Thompson()}
    if case.conditions.every_user:
        others["half the spread"] = tg.ScaledThompson(0.5)
    steps = case.conditions.users(case.horizon)
    if case.problem.arms * steps <= 200 and case.conditions.every_user:  # others take minutes
        others |= {"IDS": tg.InformationDirected(), "top two": tg.TopTwoThompson()}
        others |= {name: build() for name, build in PLANNERS.items()}
    return {**others, **found.built}


def measured(case: Drawn, episodes: int, **options: Any) -> dict[str, Any]:
    """Returns regrets of every rival and of the default training on common episodes, and seconds of training."""
    where: dict[str, Any] = {"horizon": case.horizon, "seed": EVALUATION, "conditions": case.conditions}
    began = time.perf_counter()
    run = tg.train(case.problem, horizon=case.horizon, conditions=case.conditions, progress=False, **options)
    seconds = time.perf_counter() - began
    ours, trained = (
        tg.simulate(case.problem, policy, episodes=episodes, **where).regret for policy in (run.policy, run.trained)
    )
    rivals, best, ratio, error, alone = {}, "", -np.inf, 0.0, 0.0
    for name, policy in rivals_of(case).items():
        played = SLOW.get(name, episodes)
        try:
            regret = tg.simulate(case.problem, policy, episodes=played, **where).regret
        except tg.BadInput:
            continue
        rivals[name] = round(float(np.mean(regret)), 4)
        here = float(np.mean(ours[:played]) / np.mean(regret))
        spread = float(np.std(ours[:played] - here * regret) / np.sqrt(played) / np.mean(regret))
        if here > ratio and not (name in SLOW and here < 1 + 3 * spread):  # few episodes must show it beyond chance
            best, ratio, error = name, here, spread
            alone = float(np.mean(trained[:played]) / np.mean(regret))
    return {
        "problem": str(case),
        "ratio": round(ratio, 4),
        "standard error": round(error, 4),
        "ratio of the trained policy": round(alone, 4),
        "best rival": best,
        "chosen": run.chosen,
        "regret": round(float(np.mean(ours)), 4),
        "rivals": rivals,
        "iterations": len(run.history) - 1,
        "seconds": round(seconds, 1),
    }


def main() -> None:
    """Draws, trains, compares, prints, and writes after each problem; what was written of others stays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="development", choices=SETS)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--problems", type=int, default=64)
    parser.add_argument("--episodes", type=int, default=8192)
    given = parser.parse_args()
    part = f"any problem, {given.set}"
    found = {one["number"]: one for one in (read(part) or {"problems": []})["problems"]}
    for number in range(given.first, given.first + given.problems):
        jax.clear_caches()  # what one problem compiles serves no other, and memory for programs ends
        found[number] = {"number": number, **measured(drawn(given.set, number), given.episodes)}
        print({name: value for name, value in found[number].items() if name != "rivals"}, flush=True)
        write(part, {**summary(list(found.values())), "problems": [found[key] for key in sorted(found)]})
    print(summary(list(found.values())))


def summary(found: list[dict[str, Any]]) -> dict[str, float]:
    """Returns what all problems say together."""
    ratios = np.sort([one["ratio"] for one in found])
    return {
        "median": float(np.median(ratios)),
        "ninth decile": float(np.quantile(ratios, 0.9)),
        "worst": float(ratios[-1]),
        "median seconds": float(np.median([one["seconds"] for one in found])),
    }


if __name__ == "__main__":
    main()
