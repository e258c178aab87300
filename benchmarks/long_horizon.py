"""Ten thousand steps: the recipe of `tsgrad.train` as it comes, by way of shorter horizons, against rivals.

    python benchmarks/long_horizon.py [gaussian] [bernoulli] [--horizon 10000] [--episodes 4096]

Policies play the same fresh episodes; differences from the trained policy are paired. Rivals whose tables would be too
large are named with the reason. Beside them, the policy of a training at three thousand steps, and the pretrained one.
"""

import argparse
import time
from typing import Any

import tsgrad as tg
from measure import write

PROBLEMS: dict[str, Any] = {"gaussian": tg.GaussianBandit(arms=10), "bernoulli": tg.BernoulliBandit(arms=10)}
RIVALS: dict[str, Any] = {
    "Thompson": tg.Thompson,
    "greedy": tg.Greedy,
    "Bayes-UCB": tg.BayesUCB,
    "OGI-T": lambda: tg.OptimisticGittins("left"),
    "Gittins": tg.FiniteHorizonGittins,
    "half the spread": lambda: tg.ScaledThompson(0.5),
}
SHORTER = 3000


def applicable(problem: Any, horizon: int) -> dict[str, tg.Policy]:
    """The rivals that can be played so long."""
    found = {}
    for name, build in RIVALS.items():
        try:
            found[name] = build().prepare(problem, horizon)
        except tg.BadInput as reason:
            print(f"without {name}: {reason}")
    return found


def main() -> None:
    """Trains, compares, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--episodes", type=int, default=4096)
    given = parser.parse_args()
    for name in given.problems:
        problem = PROBLEMS[name]
        policies = {**applicable(problem, given.horizon), "pretrained": tg.pretrained(name)}
        for title, horizon in (("trained at 3,000 steps", SHORTER), ("trained", given.horizon)):
            began = time.perf_counter()
            trained = tg.train(problem, horizon=horizon, seed=0, progress=False).policy
            seconds = time.perf_counter() - began
            # What its meta-parameters mean is relative to the horizon.
            policies[title] = tg.with_parameters(tg.BonusThompson(problem), tg.parameter_vector(trained))
            print(name, title, f"in {seconds:.0f} s", flush=True)
        found = tg.compare(
            problem, policies, horizon=given.horizon, episodes=given.episodes, seed=1, reference="trained", bound=None
        )
        print(found, flush=True)
        rows = {
            policy: {
                "regret": found.regret[policy],
                "above trained, standard error": [float(part) for part in found.difference(policy, "trained")],
            }
            for policy in policies
        }
        write(f"long horizon, {name}", {"seconds of training": seconds, f"{given.episodes} episodes": rows})


if __name__ == "__main__":
    main()
