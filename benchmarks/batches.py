"""Gradients of batches: how noisy and how biased pathwise ones are beside scores, and what a batch costs.

    python benchmarks/batches.py [gradients] [memory] [--episodes 100000]

Two Gaussian arms, two batches of 5, 50 and 500 users, where quadrature gives the gradient to six digits: traces of the
variance of an episode's gradient, and the largest error of a meta-parameter in standard errors of an estimate from
10,000 episodes. The bias is known to sqrt(10,000 / episodes) of these. Then ten arms: one gradient of 2,000 episodes of
10 batches of 10,000 users against one of 10 single users. Last, the most memory that a process of its own holds while
it computes one such gradient, by the size of a batch.
"""

import argparse
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tsgrad as tg
from measure import fastest, write
from tsgrad.policies import parameter_vector

PROBLEM = tg.GaussianBandit(prior_mean=[0.3, 0.0], noise_std=[1.0, 2.0])
BATCHES = (100, 10_000, 1_000_000)  # users, whose memory is compared
POINTS = np.linspace(-7, 7, 201)  # close enough for how steeply shares rise once much is known
WEIGHTS = np.exp(-(POINTS**2) / 2) / np.sum(np.exp(-(POINTS**2) / 2))


def expected_reward(policy: Any, users: int) -> Any:
    """Two batches of independent draws: every count of the first, sums of both arms by quadrature, shares by cdf."""

    def share(belief: Any, t: int) -> Any:
        law = policy.law(PROBLEM, belief, None, tg.Context(), tg.Clock(t, 2 * users))
        gap = (law.location[0] - law.location[1]) / jnp.sqrt(law.scale[0] ** 2 + law.scale[1] ** 2)
        return jax.scipy.stats.norm.cdf(gap)

    first = share(PROBLEM.prior(2 * users), 1)
    counts = jnp.arange(users + 1.0)
    log_chance = (
        jax.scipy.special.gammaln(users + 1.0)
        - jax.scipy.special.gammaln(counts + 1)
        - jax.scipy.special.gammaln(users - counts + 1)
        + counts * jnp.log(first)
        + (users - counts) * jnp.log1p(-first)
    )

    def second(count: Any, one: Any, other: Any) -> Any:
        pulls = jnp.stack([count, users - count])
        spread = jnp.sqrt(pulls * (pulls * PROBLEM.prior_std**2 + PROBLEM.noise_std**2))
        belief = type(PROBLEM.prior(1))(pulls, spread * jnp.stack([one, other]))
        means = PROBLEM.posterior_means(belief, tg.Context())
        chosen = share(belief, users + 1)
        return chosen * means[0] + (1 - chosen) * means[1]

    @jax.checkpoint
    def later_reward(count: Any) -> Any:
        grid = jax.vmap(jax.vmap(second, (None, None, 0)), (None, 0, None))
        return WEIGHTS @ grid(count, jnp.asarray(POINTS), jnp.asarray(POINTS)) @ WEIGHTS

    later = jax.lax.map(later_reward, counts)
    at_first = first * PROBLEM.prior_mean[0] + (1 - first) * PROBLEM.prior_mean[1]
    return users * (at_first + jnp.sum(jnp.exp(log_chance) * later))


def gradients(episodes: int) -> None:
    """Prints a line for each size of batch and each way, and what a batch costs."""
    policy = tg.ReshapedThompson(PROBLEM)
    rows = []
    for users in (5, 50, 500):
        with jax.enable_x64(True):
            slope = jax.jit(jax.grad(expected_reward), static_argnums=1)(jax.tree.map(jnp.asarray, policy), users)
            exact = parameter_vector(slope)
        for metric, way in (("mean", "pathwise"), ("bayes", "pathwise"), ("mean", "score"), ("bayes", "score")):
            found = tg.gradient(
                PROBLEM,
                policy,
                tg.Estimator(metric, "self", gradient=way),
                horizon=2,
                episodes=episodes,
                seed=0,
                conditions=tg.Conditions(batch=users),
            )
            row = {
                "users": users,
                "gradient": f"{metric}, {way}",
                "variance": float(np.sum(found.standard_error**2) * episodes),
                "bias": float(np.linalg.norm(found.mean - exact) / np.linalg.norm(exact)),
                "standard errors of 10,000": float(
                    np.max(np.abs(found.mean - exact) / found.standard_error) * np.sqrt(10_000 / episodes)
                ),
            }
            rows.append(row)
            print(
                f"batches of {users:3}, {row['gradient']:16} variance {row['variance']:9.3g},"
                f" off by {100 * row['bias']:5.2f}% of the gradient,"
                f" at most {row['standard errors of 10,000']:5.2f} standard errors of 10,000 episodes",
                flush=True,
            )
    ten = tg.GaussianBandit(arms=10)
    seconds = fastest({name: _one_gradient(ten, batch) for name, batch in (("10 x 10,000", 10_000), ("10 x 1", 1))})
    ratio = seconds["10 x 10,000"] / seconds["10 x 1"]
    print(f"one gradient of 2,000 episodes: {seconds}; ratio {ratio:.2f}")
    write("batches", {"rows": rows, "seconds": seconds, "ratio": ratio, "episodes": episodes})


def _one_gradient(problem: Any, batch: int) -> Callable[[], object]:
    """By the estimator that training takes."""
    options: dict[str, Any] = {"horizon": 10, "episodes": 2000, "seed": 0, "engine": "jax"}
    policy, estimator = tg.BonusThompson(problem), tg.Estimator("bayes", "self", rollouts=4)
    return lambda: tg.gradient(problem, policy, estimator, conditions=tg.Conditions(batch=batch), **options)


def most_megabytes(batch: int) -> float:
    """That this process has held once it has computed a gradient; a new process starts from nothing."""
    _one_gradient(tg.GaussianBandit(arms=10), batch)()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1e3


def memory() -> None:
    """Prints the memory of one gradient, by the users of a batch."""
    found = {}
    for batch in BATCHES:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
            found[f"10 x {batch:,}"] = process.submit(most_megabytes, batch).result()
        print(f"10 batches of {batch:,}: {found[f'10 x {batch:,}']:.0f} MB", flush=True)
    write("batches, memory", {"megabytes": found})


def main() -> None:
    """Measures what is asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="gradients, memory, or both")
    parser.add_argument("--episodes", type=int, default=100_000)
    given = parser.parse_args()
    parts = {"gradients": lambda: gradients(given.episodes), "memory": memory}
    for part in given.parts or parts:
        parts[part]()


if __name__ == "__main__":
    main()
