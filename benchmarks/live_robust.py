"""Training that does not trust a prior more than the data do: `fit.uncertain` against `fit.problem`.

    python benchmarks/live_robust.py [--arms 10] [--iterations 100] [--episodes 16384]

A prior is fitted on a log of few arms. One policy is trained on the fitted prior, one on priors drawn from what the fit
leaves open. Both play where the prior is as fitted, where its mean or its spread is off by a standard error, and where
it is drawn from what the data leave open. Prints the regrets and their paired difference, and writes them to a file.
"""

import argparse

import numpy as np

import tsgrad as tg
from measure import write
from tsgrad.evaluate.statistics import mean_and_error


def fitted(arms, pulls=20, seed=0):
    """A prior from a log of so many arms, whose means have standard deviation 1 and rewards 2."""
    generator = np.random.default_rng(seed)
    means = np.repeat(generator.normal(0.0, 1.0, arms), pulls)
    log = {"arm": np.repeat(np.arange(arms), pulls), "reward": generator.normal(means, 2.0)}
    return tg.fit_prior(log, family="gaussian", noise_std=2.0)


def truths(fit, arms):
    """Where the prior is as fitted, where one of its coordinates is off by a standard error, and where it is drawn from
    what the data leave open.
    """
    yield "as fitted", fit.problem(arms=arms)
    for number, name in enumerate(("mean", "spread")):
        for side, said in ((-1, "lower"), (1, "higher")):
            free = fit.free + side * np.sqrt(fit.covariance[number, number]) * np.eye(len(fit.free))[number]
            yield f"{name} {said}", fit.law.problem(fit.law.parameters(free), arms)
    yield "as data allow", fit.uncertain(arms=arms, seed=1).truth


def main():
    """Fits, trains both, compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", type=int, default=10)
    parser.add_argument("--horizon", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--batch", type=int, default=1000, help="episodes of an iteration")
    parser.add_argument("--episodes", type=int, default=16_384)
    options = parser.parse_args()
    fit = fitted(options.arms)
    print(fit)
    model = fit.problem(arms=options.arms)
    policies = {}
    for name, problem in (("plain", model), ("uncertain", fit.uncertain(arms=options.arms))):
        run = tg.train(
            problem,
            tg.ReshapedThompson(model, shared=True),
            horizon=options.horizon,
            episodes=options.batch,
            iterations=options.iterations,
            seed=0,
        )
        policies[name] = run.last
        print(f"{name}: {run}", flush=True)
    results, losses = {}, []
    for said, truth in truths(fit, options.arms):
        found = tg.compare(
            tg.Misspecified(truth=truth, model=model),
            policies,
            horizon=options.horizon,
            episodes=options.episodes,
            seed=1,
            bound=None,
        )
        less, error = found.difference("plain", "uncertain")
        results[said] = {**found.regret, "less": less, "standard_error": error}
        if said not in ("as fitted", "as data allow"):
            losses.append(found.regrets["plain"] - found.regrets["uncertain"])
        print(
            f"{said:>14}: plain {found.regret['plain']:.3f}, uncertain {found.regret['uncertain']:.3f},"
            f" {less:+.3f} less (s.e. {error:.3f}), {less / found.regret['plain']:+.2%}",
            flush=True,
        )
    less, error = mean_and_error(np.mean(losses, axis=0))
    results["off by a standard error"] = {"less": less, "standard_error": error}
    print(f"off by a standard error, on average: {less:+.3f} less (s.e. {error:.3f})")
    write("live_robust", results)


if __name__ == "__main__":
    main()
