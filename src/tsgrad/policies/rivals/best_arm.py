"""What a belief says about which arm is best: the quantities of information-directed sampling."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class BestArm(NamedTuple):
    """A* is the best arm of a draw from the posterior. Axes: [K] each.

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
