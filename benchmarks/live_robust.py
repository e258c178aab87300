"""Training that does not trust a prior more than the data do: `fit.uncertain` against `fit.problem`.

    python benchmarks/live_robust.py [--arms 10] [--logs 5] [--first 1] [--episodes 65536]

A prior is fitted on a log of few arms. One policy is trained on the fitted prior, one on priors drawn from what the fit
leaves open, both by the default recipe. Both play where the prior is as fitted, and where it is off by a standard error
in every direction at once: at the corners of the fit's uncertainty, which together have its covariance. (With one
coordinate off at a time they have half of it, and there, to second order, neither policy is better: the one is best for
no spread of priors, the other for twice as much.) Prints regrets and paired differences by log, and writes them to a
file.
"""

import argparse
import itertools

import numpy as np

import tsgrad as tg
from measure import write
from tsgrad.evaluate.statistics import mean_and_error


def fitted(arms, seed, pulls=20):
    """A prior from a log of so many arms, whose means have standard deviation 1 and rewards 2."""
    generator = np.random.default_rng(seed)
    means = np.repeat(generator.normal(0.0, 1.0, arms), pulls)
    log = {"arm": np.repeat(np.arange(arms), pulls), "reward": generator.normal(means, 2.0)}
    return tg.fit_prior(log, family="gaussian", noise_std=2.0)


def corners(fit, arms):
    """Problems whose prior is one standard error away along every principal axis of the fit's covariance."""
    variances, axes = np.linalg.eigh(fit.covariance)
    for signs in itertools.product((-1, 1), repeat=len(variances)):
        free = fit.free + axes @ (np.sqrt(variances) * signs)
        yield fit.law.problem(fit.law.parameters(free), arms)


def judged(fit, options):
    """Regrets of both policies by where they play, and how much less the one trained on uncertain priors has."""
    model, horizon = fit.problem(arms=options.arms), options.horizon
    problems = {"plain": model, "uncertain": fit.uncertain(arms=options.arms)}
    policies = {name: tg.train(problem, horizon=horizon, seed=0).policy for name, problem in problems.items()}

    def regrets(truth):
        problem = tg.Misspecified(truth=truth, model=model)
        found = tg.compare(problem, policies, horizon=horizon, episodes=options.episodes, seed=1, bound=None)
        return np.stack([found.regrets[name] for name in policies])

    off = [regrets(truth) for truth in corners(fit, options.arms)]
    worst = max(off, key=lambda both: np.mean(both[0]))
    return {"as fitted": regrets(model), "off by a standard error": np.mean(off, axis=0), "where plain is worst": worst}


def main():
    """Fits, trains both, compares; on several logs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", type=int, default=10)
    parser.add_argument("--logs", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="number of the first log; settings were chosen on log 1")
    parser.add_argument("--horizon", type=int, default=50)
    parser.add_argument("--episodes", type=int, default=65_536)
    options = parser.parse_args()
    results, found = {}, []
    numbers = range(options.first, options.first + options.logs)
    for number in numbers:
        fit = fitted(options.arms, seed=number - 1)
        print(fit, flush=True)
        found.append(judged(fit, options))
        results |= said(f"log {number}, ", found[-1])
    pooled = {place: np.mean([one[place] for one in found], axis=0) for place in found[0]}
    which = f"logs {numbers[0]} to {numbers[-1]}"
    part = "live robust training" if options.first == 1 else f"live robust training, {which}"
    write(part, results | said(f"{which}, ", pooled))


def said(of, places):
    """Mean regrets at each place, and their paired difference; printed too."""
    rows = {}
    for place, (plain, uncertain) in places.items():
        less, error = mean_and_error(plain - uncertain)
        rows[of + place] = {
            "plain": float(np.mean(plain)),
            "uncertain": float(np.mean(uncertain)),
            "less": less,
            "standard error": error,
            "less, %": 100 * less / float(np.mean(plain)),
        }
        told = ", ".join(f"{name} {value:.3f}" for name, value in rows[of + place].items())
        print(f"{of + place}: {told}", flush=True)
    return rows


if __name__ == "__main__":
    main()
