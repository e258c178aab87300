"""What a decision costs, and whether the runtime decides as the simulator does: 10,000 beliefs of every policy.

    python benchmarks/runtime.py [--beliefs 10000]

Prints microseconds of a decision with ten arms, of its propensity and of its reward, by policy, and how many decisions
differ from the simulator's for the same noise.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path

import numpy as np

import tsgrad as tg
from tsgrad_runtime import Agent

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "runtime"))
from replays import POLICIES, replayed

GAUSSIAN, BERNOULLI = tg.GaussianBandit(arms=10), tg.BernoulliBandit(arms=10)
TIMED = {
    "thompson, gaussian": (GAUSSIAN, tg.Thompson()),
    "reshaped, gaussian": (GAUSSIAN, tg.ReshapedThompson(GAUSSIAN)),
    "bonus, gaussian": (GAUSSIAN, tg.BonusThompson(GAUSSIAN)),
    "gittins, gaussian": (GAUSSIAN, tg.FiniteHorizonGittins()),
    "thompson, bernoulli": (BERNOULLI, tg.Thompson()),
    "reshaped, bernoulli": (BERNOULLI, tg.ReshapedThompson(BERNOULLI)),
    "bonus, bernoulli": (BERNOULLI, tg.BonusThompson(BERNOULLI)),
    "SoftElim, bernoulli": (BERNOULLI, tg.SoftElim()),
}


def best(call, number=500, repeat=7):
    """Microseconds of processor time of one call, in the quickest of several rounds."""
    return min(timeit.repeat(call, number=number, repeat=repeat, timer=time.process_time)) / number * 1e6


def time_decisions(folder):
    """Microseconds by policy."""
    print(f"{'ten arms, microseconds':28s} {'decide':>8s} {'propensity':>11s} {'reward':>8s}")
    for name, (problem, policy) in TIMED.items():
        path = folder / "policy.json"
        tg.write_policy(path, policy, problem=problem, horizon=100)
        agent = Agent.load(path, seed=0)
        rng = np.random.default_rng(0)
        for _ in range(60):
            agent.reward(agent.decide().id, int(rng.random() < 0.5))
        scene = agent.scene()
        decide = best(lambda agent=agent: agent.decide())
        propensity = best(
            lambda agent=agent, scene=scene: agent.policy.shares(scene, np.random.default_rng(0)), number=100
        )
        waiting = iter([agent.decide().id for _ in range(500 * 8)])
        reward = best(lambda agent=agent, waiting=waiting: agent.reward(next(waiting), 1))
        print(f"{name:28s} {decide:8.1f} {propensity:11.1f} {reward:8.1f}")


def main():
    """Times decisions, then compares them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--beliefs", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        time_decisions(folder)
        code = "import time; began = time.perf_counter(); import tsgrad_runtime; print(time.perf_counter() - began)"
        took = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))
        print(f"importing takes {took:.3f} s")
        for case in POLICIES if options.beliefs else ():
            beliefs, different = replayed(case, folder / "policy.json", horizon=20, episodes=options.beliefs // 20)
            print(f"{case:28s} {different} of {beliefs} decisions differ", flush=True)


if __name__ == "__main__":
    main()
