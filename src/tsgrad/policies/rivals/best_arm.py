"""What a belief says about which arm is best: the quantities of information-directed sampling, and by draws."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.problems import Context, largest
from tsgrad.streams import Noise

_DRAWS = 512


class BestArm(NamedTuple):
    """A* is the best available arm of a draw from the posterior. Axes: [K] each.

    `shortfall` is what an arm is expected to earn less than A* does (Delta); `variance` how much knowing A* would
    move the arm's mean: sum_i P(A* = i) (E[theta_j | A* = i] - E theta_j)^2 (v).
    """

    probability: Float[Array, "K"]
    shortfall: Float[Array, "K"]
    variance: Float[Array, "K"]


def moved_variance(probability: Float[Array, "K"], moved: Float[Array, "K K"]) -> Float[Array, "K"]:
    """v_j, from moved[i, j] = P(A* = i) (E[theta_j | A* = i] - E theta_j); arms that are never best count for nothing.

    >>> print(moved_variance(jnp.array([0.5, 0.5]), jnp.array([[0.5, -0.25], [-0.5, 0.25]])))
    [1.   0.25]
    """
    smallest = np.finfo(probability.dtype).tiny
    share = jnp.where(probability > smallest, 1 / jnp.maximum(probability, smallest), 0.0)
    return jnp.sum(moved**2 * share[:, None], axis=0)


def information(probability: Float[Array, "K outcomes"], chance: Float[Array, "outcomes"]) -> Float[Array, ""]:
    """The mutual information of A* and an outcome, in nats: sum_i sum_y c_y p_iy log(p_iy / p_i), p_i the mean of p_iy.

    Columns are normalised, and terms are p log(p / q) - p + q, none of which is negative: quadrature errors don't
    make information out of nothing.

        >>> print(information(jnp.eye(2), jnp.array([0.5, 0.5])).round(4))  # log 2
        0.6931
    """
    smallest = np.finfo(probability.dtype).tiny
    p = probability / jnp.maximum(jnp.sum(probability, axis=0), smallest)
    q = jnp.broadcast_to((p @ chance)[:, None], p.shape)
    seen = (p > smallest) & (q > smallest)
    ratio = jnp.where(seen, p, 1.0) / jnp.where(seen, q, 1.0)
    return jnp.sum(jnp.where(seen, p * jnp.log(ratio), 0.0) - p + q, axis=0) @ chance


def sampled_best_arm(model: Any, belief: Any, context: Context, noise: Noise) -> BestArm:
    """From 512 draws, each at a sub-address of its own: for arms that are not independent.

    Means are those of the draws, so that deviations add up.
    """
    law = model.posterior(belief)
    draws = jax.vmap(lambda number: model.means(law.sample(noise.at(number)), context))(jnp.arange(1, _DRAWS + 1))
    mean = jnp.mean(draws, axis=0)
    best = jax.nn.one_hot(jax.vmap(lambda draw: largest(draw, context))(draws), model.arms, dtype=draws.dtype)
    probability = jnp.mean(best, axis=0)
    moved = best.T @ (draws - mean) / _DRAWS
    shortfall = jnp.mean(jnp.max(context.offered(draws), axis=1)) - mean
    return BestArm(probability, shortfall, moved_variance(probability, moved))
