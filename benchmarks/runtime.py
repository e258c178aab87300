"""What a decision costs, and whether the runtime decides as the simulator does: 10,000 beliefs of every policy.

    python benchmarks/runtime.py speed
    python benchmarks/runtime.py beliefs [--problems gaussian bernoulli] [--count 10000]

The first prints microseconds of a decision with ten arms, by policy: of one while nothing new is known, of one right
after a reward, of its propensity and of a reward. The second, how many decisions differ from the simulator's for the
same noise, and by how much propensities do where both sides have them exactly, over a fifth of the beliefs; for all
policies of some problems, or of all. Both write to files.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path

import jax
import numpy as np

import tsgrad as tg
from measure import write
from tsgrad_runtime import Agent

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "runtime"))
from replays import POLICIES, PROBLEMS, differing, has_exact_shares, moved, played, shares_apart

GAUSSIAN, BERNOULLI, POISSON = tg.GaussianBandit(arms=10), tg.BernoulliBandit(arms=10), tg.PoissonBandit(arms=10)
LINEAR = tg.LinearBandit(features=np.random.default_rng(0).normal(size=(10, 5)))
HORIZON = 1_000_000
SHORT = 100  # for policies whose table grows with the horizon
TIMED = {
    "Thompson, gaussian": (GAUSSIAN, tg.Thompson()),
    "Thompson, bernoulli": (BERNOULLI, tg.Thompson()),
    "Thompson, poisson": (POISSON, tg.Thompson()),
    "Thompson, linear": (LINEAR, tg.Thompson()),
    "reshaped, gaussian": (GAUSSIAN, tg.ReshapedThompson(GAUSSIAN)),
    "reshaped, bernoulli": (BERNOULLI, tg.ReshapedThompson(BERNOULLI)),
    "reshaped, poisson": (POISSON, tg.ReshapedThompson(POISSON)),
    "reshaped, linear": (LINEAR, tg.ReshapedThompson(LINEAR)),
    "bonus, gaussian": (GAUSSIAN, tg.BonusThompson(GAUSSIAN)),
    "bonus, bernoulli": (BERNOULLI, tg.BonusThompson(BERNOULLI)),
    "bonus, linear": (LINEAR, tg.BonusThompson(LINEAR)),
    "recurrent, gaussian": (GAUSSIAN, tg.RecurrentThompson(GAUSSIAN)),
    "RL2, bernoulli": (BERNOULLI, tg.RL2(BERNOULLI)),
    "SoftElim, bernoulli": (BERNOULLI, tg.SoftElim()),
    "Gittins, gaussian": (GAUSSIAN, tg.FiniteHorizonGittins()),
    "Bayes-UCB, bernoulli": (BERNOULLI, tg.BayesUCB()),
    "greedy, gaussian": (GAUSSIAN, tg.Greedy()),
    "scaled, bernoulli": (BERNOULLI, tg.ScaledThompson(0.7)),
    "satisficing, bernoulli": (BERNOULLI, tg.SatisficingThompson(0.1)),
    "top two, bernoulli": (BERNOULLI, tg.TopTwoThompson()),
    "A/B test, bernoulli": (BERNOULLI, tg.ABTest()),
    "residual horizon, bernoulli": (BERNOULLI, tg.ResidualHorizon(after=1000)),
    "residual horizon, in batches": (BERNOULLI, tg.ResidualHorizon(after=1000)),
}
BATCHED = {"residual horizon, in batches": 1000}  # users a batch; the others learn of every reward at once
TABLED = (tg.FiniteHorizonGittins, tg.BayesUCB)


def best(call, number=500, repeat=7):
    """Microseconds of processor time of one call, in the quickest of several rounds."""
    return min(timeit.repeat(call, number=number, repeat=repeat, timer=time.process_time)) / number * 1e6


def time_decisions(folder):
    """Microseconds by policy, with meta-parameters moved: where training starts, much costs nothing."""
    columns = ("decide", "after a reward", "propensity", "reward")
    print(f"{'ten arms, microseconds':28s}" + "".join(f"{name:>15s}" for name in columns))
    found = {}
    for name, (problem, policy) in TIMED.items():
        path = folder / "policy.json"
        horizon = SHORT if isinstance(policy, TABLED) else HORIZON
        conditions = tg.Conditions(batch=BATCHED.get(name, 1))
        steps = horizon // BATCHED.get(name, 1)
        tg.write_policy(path, moved(policy, 0), problem=problem, horizon=steps, conditions=conditions)
        agent = Agent.load(path, seed=0)
        rng = np.random.default_rng(0)
        for _ in range(60):
            agent.reward(agent.decide().id, int(rng.random() < 0.5))
        scene = agent.scene()
        decide = best(agent.decide)
        propensity = best(
            lambda agent=agent, scene=scene: agent.policy.shares(scene, np.random.default_rng(0)), number=50, repeat=3
        )
        waiting = iter([agent.decide().id for _ in range(500 * 8)])
        reward = best(lambda agent=agent, waiting=waiting: agent.reward(next(waiting), 1))
        # A clock that is asked around every decision would take a tenth of its time: of both, what rewards don't take.
        first = best(lambda agent=agent: agent.reward(agent.decide().id, 1)) - reward
        found[name] = dict(zip(columns, (decide, first, propensity, reward), strict=True))
        print(f"{name:28s}" + "".join(f"{value:15.1f}" for value in found[name].values()), flush=True)
    return found


def compare_beliefs(folder, problem, beliefs):
    """Of every policy that plays a problem: how many decisions differ, and by how much propensities do."""
    jax.config.update("jax_disable_most_optimizations", True)  # to compile takes longer than to play
    results = {}
    for case in (case for case, (name, _) in POLICIES.items() if name == problem):
        found = played(case, folder / "policy.json", horizon=20, episodes=beliefs // 20)
        different = differing(found)
        few = jax.tree.map(lambda values: values[: max(beliefs // 100, 1)], found.trajectories)
        apart = float(shares_apart(found._replace(trajectories=few))) if has_exact_shares(found) else None
        results[case] = {"beliefs": beliefs, "decisions that differ": different, "propensities apart by": apart}
        said = "by draws" if apart is None else f"apart by {apart:.1g}"
        print(f"{case:28s} {different} of {beliefs} decisions differ; propensities {said}", flush=True)
    return results


def main():
    """Times decisions, or compares them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("speed", "beliefs"))
    parser.add_argument("--count", type=int, default=10_000, help="of beliefs")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if options.part == "beliefs":
            for problem in options.problems:
                found = compare_beliefs(Path(name), problem, options.count)
                write(f"runtime against the simulator, {problem}", found)
            return
        code = "import time; began = time.perf_counter(); import tsgrad_runtime; print(time.perf_counter() - began)"
        took = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))
        print(f"importing takes {took:.3f} s")
        write("microseconds of a decision", time_decisions(Path(name)))


if __name__ == "__main__":
    main()
