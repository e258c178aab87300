"""A sampled future of Gaussian arms, and the best plan in it."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.policies.base import Clock
from tsgrad.problems.gaussian import GaussianBelief
from tsgrad.streams import Noise


def sampled_means(
    model: Any, belief: GaussianBelief, clock: Clock, noise: Noise
) -> tuple[Float[Array, "K T"], Float[Array, "K T"]]:
    """Each arm's posterior mean and standard deviation after j = 0..T-1 further pulls, whose rewards are drawn.

    Posterior means are a martingale with independent normal steps, each with the variance that its pull resolves.
    The first T - t + 1 entries are those that the rest of the episode can reach.
    """
    arms, horizon = model.arms, clock.horizon
    law = model.posterior(belief)
    pulls = belief.pulls[:, None] + jnp.arange(horizon)
    ratio = jnp.asarray(model.precision_ratio)[:, None]
    variance = jnp.asarray(model.prior_std)[:, None] ** 2 / (1 + ratio * pulls)
    # s_j^2 - s_{j+1}^2 = s_j^2 s_{j+1}^2 / noise^2, multiplied out
    step = jnp.sqrt(variance[:, :-1] * variance[:, 1:]) / jnp.asarray(model.noise_std)[:, None]
    drawn = noise.normal(jnp.arange(arms * horizon)).reshape(arms, horizon)[:, : horizon - 1]
    moves = jnp.concatenate([jnp.zeros((arms, 1)), jnp.cumsum(step * drawn, axis=1)], axis=1)
    return law.location[:, None] + moves, jnp.sqrt(variance)


def best_counts(means: Float[Array, "K T"], clock: Clock) -> Integer[Array, "K"]:
    """How often to pull each arm, d = T - t + 1 times in all, to maximise the sum over k and j < n_k of means[k, j].

    A maximum-plus convolution over arms: best[c] is the most that c pulls of the arms so far can bring.

        >>> means = jnp.array([[1.0, 5.0, 0.0], [2.0, 2.0, 2.0]])
        >>> print(best_counts(means, Clock(t=1, horizon=3)))
        [2 1]
    """
    arms, horizon = means.shape
    totals = jnp.concatenate([jnp.zeros((arms, 1)), jnp.cumsum(means, axis=1)], axis=1)  # [K, n = 0..T]
    counts = jnp.arange(horizon + 1)

    def with_arm(best: Float[Array, "n"], total: Float[Array, "n"]) -> Any:
        def with_pulls(n: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
            value, choice = found
            candidate = jnp.where(counts >= n, jnp.roll(best, n) + total[n], -jnp.inf)
            return jnp.maximum(value, candidate), jnp.where(candidate > value, jnp.int32(n), choice)

        start = (jnp.full(horizon + 1, -jnp.inf), jnp.zeros(horizon + 1, jnp.int32))
        return jax.lax.fori_loop(0, clock.left + 1, with_pulls, start)

    nothing = jnp.where(counts == 0, 0.0, -jnp.inf)
    _, choices = jax.lax.scan(with_arm, nothing, totals)

    def backwards(left: Array, choice: Array) -> tuple[Array, Array]:
        return left - choice[left], choice[left]

    _, played = jax.lax.scan(backwards, jnp.asarray(clock.left), choices, reverse=True)
    return played
