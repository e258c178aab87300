"""The recipe of `tsgrad.train` as it comes, by seed, beside the best index on the same episodes.

    python benchmarks/recipe.py [standard] [hetero] [many] [bernoulli]

Regrets are of 100,000 fresh episodes, the same for all policies and seeds of training; standard errors of differences
from the finite-horizon Gittins index are paired. Beside them, plain Thompson sampling and the regret that no policy can
go below. Two Bernoulli arms can be in so few states that regrets are known exactly, too: there, policies are closer to
each other than 100,000 episodes can tell. All takes about five minutes on two cores.
"""

import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tsgrad as tg
from measure import write
from tsgrad.experiments import SETTINGS, setting_named
from tsgrad.policies import Clock
from tsgrad.problems import Context
from tsgrad.problems.bernoulli import BernoulliBelief

SEEDS = range(5)
EPISODES, SEED = 100_000, 2024


def problem_named(name: str) -> tuple[Any, int]:
    """A setting of the paper, or two Bernoulli arms, with its horizon."""
    if name == "bernoulli":
        return tg.BernoulliBandit(arms=2), 50
    setting = setting_named(name)
    return setting.problem, setting.horizon


def known_ends(problem: Any, horizon: int) -> dict[str, float]:
    """Plain Thompson sampling, on ten times as many episodes, and the regret that no policy can go below."""
    plain = tg.simulate(problem, tg.Thompson(), horizon=horizon, episodes=10 * EPISODES, seed=SEED)
    kind: Any = "optimum" if isinstance(problem, tg.BernoulliBandit) else "V-Zero"
    limit = tg.regret_bound(problem, horizon=horizon, kind=kind, episodes=4096, seed=SEED)
    return {"Thompson": float(np.mean(plain.regret)), "limit": limit.regret}


def exact_regret(problem: tg.BernoulliBandit, policy: tg.SamplingPolicy, horizon: int) -> float:
    """The regret of a policy that draws normal values of two Bernoulli arms, over all states that they can be in."""
    ready: Any = policy.prepare(problem, horizon)
    first, *successes = np.indices((horizon + 1,) * 3)  # pulls of the first arm, successes of both

    @jax.jit
    def chances(t: Any) -> Any:
        """Of playing the first arm, and of a success of each, where t - 1 steps were played."""

        def one(pulls: Any, successes: Any) -> Any:
            belief = BernoulliBelief(successes, pulls - successes)
            law = ready.law(problem, belief, None, Context(), Clock(t, horizon))
            z = (law.location[0] - law.location[1]) / jnp.hypot(*law.scale)
            return jnp.stack([jax.scipy.special.ndtr(z), *problem.posterior_means(belief, Context())])

        pulls = jnp.stack([first, jnp.maximum(t - 1 - first, 0)], axis=-1)
        possible = jnp.minimum(np.stack(successes, axis=-1), pulls)  # others are never reached
        flat = [value.reshape(-1, 2).astype(float) for value in (pulls, possible)]
        return jnp.moveaxis(jax.vmap(one)(*flat), -1, 0).reshape(3, *first.shape)

    reached, reward = np.zeros(first.shape), 0.0
    reached[0, 0, 0] = 1.0
    for t in range(1, horizon + 1):
        with jax.enable_x64(True):
            share, *means = np.asarray(chances(t))
        played = (reached * share, reached * (1 - share))
        paid = [chance * mean for chance, mean in zip(played, means, strict=True)]
        unpaid = [chance - success for chance, success in zip(played, paid, strict=True)]
        reward += float(np.sum(paid))
        reached = unpaid[1]
        reached[1:] += unpaid[0][:-1]
        reached[1:, 1:] += paid[0][:-1, :-1]
        reached[:, :, 1:] += paid[1][:, :, :-1]
    return horizon * problem.expected_best_mean() - reward


def main() -> None:
    """Trains, prints and writes."""
    for name in sys.argv[1:] or (*SETTINGS, "bernoulli"):
        problem, horizon = problem_named(name)

        def regrets(policy: tg.Policy, problem: Any = problem, horizon: int = horizon) -> Any:
            return tg.simulate(problem, policy, horizon=horizon, episodes=EPISODES, seed=SEED).regret

        gittins = regrets(tg.FiniteHorizonGittins())
        ends = {**known_ends(problem, horizon), "Gittins": float(np.mean(gittins))}
        found: dict[str, list[float]] = {"regret": [], "seconds": [], "above Gittins": [], "standard error": []}
        for seed in SEEDS:
            began = time.perf_counter()
            run = tg.train(problem, horizon=horizon, seed=seed, progress=False)
            found["seconds"].append(time.perf_counter() - began)
            trained = regrets(run.trained)
            above = trained - gittins
            found["regret"].append(float(np.mean(trained)))
            found["above Gittins"].append(float(np.mean(above)))
            found["standard error"].append(float(np.std(above) / np.sqrt(EPISODES)))
            if isinstance(problem, tg.BernoulliBandit):
                found.setdefault("exact regret", []).append(exact_regret(problem, run.trained, horizon))
            print(
                name, f"seed {seed}:", ", ".join(f"{key} {values[-1]:.3f}" for key, values in found.items()), flush=True
            )
        print(f"{name}: worst {max(found['regret']):.3f}, Gittins {ends['Gittins']:.3f}", flush=True)
        write(f"recipe, {name}", {**found, **ends})


if __name__ == "__main__":
    main()
