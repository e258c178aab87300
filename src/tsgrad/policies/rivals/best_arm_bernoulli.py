"""Which of several independent beta arms is best, from tables of their distribution functions.

On a grid of values x_0 < x_1 < ..., arm i is best within a cell of the grid with probability
(F_i(x_{g+1}) - F_i(x_g)) prod_{l != i} F_l, each F_l at its average over the cell. There are no densities in it, which
may be infinite at 0 or 1.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.arrays import FloatArray
from tsgrad.policies.rivals.best_arm import BestArm, information, moved_variance
from tsgrad.problems import BetaArm

_GRID = np.sin(np.linspace(0, np.pi / 2, 129)) ** 2  # finer where beta laws are steep


def beta_row(arm: BetaArm, horizon: int) -> FloatArray:
    """The distribution function of every cell that can be reached in `horizon` pulls, [cell, grid]."""
    from scipy import special

    alpha, beta = arm.counts(horizon + 1)
    return np.asarray(special.betainc(alpha[:, None], beta[:, None], _GRID))


def beta_row_entries(arm: BetaArm, horizon: int) -> int:
    """How many numbers a row has."""
    return arm.cell_count(horizon + 1) * len(_GRID)


def bernoulli_best_arm(
    mean: Float[Array, "K"], below: Float[Array, "K G"], below_after_success: Float[Array, "K G"]
) -> BestArm:
    """From each arm's posterior mean, its distribution function, and that after one more success.

    The last two give truncated means: E[theta; theta <= x] = mean * below_after_success(x).
    """
    arms = mean.shape[0]
    leader = jnp.argmax(mean)
    middle, after_middle = _middle(below), _middle(below_after_success)
    known = middle > np.finfo(middle.dtype).tiny
    share = jnp.where(known, 1 / jnp.where(known, middle, 1.0), 0.0)
    all_below = jnp.prod(middle, axis=0)
    best = jnp.diff(below, axis=1) * share * all_below  # P(A* = i, theta_i in cell)
    probability = jnp.sum(best, axis=1)
    lowered = mean[:, None] * (after_middle - middle) * share  # E[theta_j | theta_j <= x] - E theta_j
    moved = jnp.where(jnp.eye(arms, dtype=bool), 0.0, best @ lowered.T)
    moved = moved - jnp.diag(jnp.sum(moved, axis=0))
    # What the best arm earns above the leader's mean, where it is another
    gained = mean[:, None] * jnp.diff(below_after_success, axis=1) - mean[leader] * jnp.diff(below, axis=1)
    gained = jnp.sum(gained * share * all_below, axis=1) - moved[:, leader]
    least = jnp.sum(jnp.where(jnp.arange(arms) != leader, gained, 0.0))
    return BestArm(probability, jnp.maximum(least, 0.0) + mean[leader] - mean, moved_variance(probability, moved))


def bernoulli_information(
    mean: Float[Array, "K"],
    below: Float[Array, "K G"],
    below_after_success: Float[Array, "K G"],
    below_after_failure: Float[Array, "K G"],
) -> Float[Array, "K"]:
    """The mutual information of A* and the next reward of each arm, in nats."""
    arms = jnp.arange(mean.shape[0])
    middle, rise = _middle(below), jnp.diff(below, axis=1)

    def of_arm(arm: Array) -> Float[Array, ""]:
        own = (arms == arm)[:, None]
        others = jnp.where(own, 1.0, middle)
        outcomes = jnp.stack([below_after_success[arm], below_after_failure[arm]])  # [2, G]
        known = others > np.finfo(others.dtype).tiny
        best_other = jnp.where(known & ~own, rise / jnp.where(known, others, 1.0), 0.0) * jnp.prod(others, axis=0)
        best_self = jnp.diff(outcomes, axis=1) @ jnp.prod(others, axis=0)
        chance = jnp.stack([mean[arm], 1 - mean[arm]])
        return information(jnp.where(own, best_self, best_other @ _middle(outcomes).T), chance)

    return jax.vmap(of_arm)(arms)


def _middle(values: Float[Array, "... G"]) -> Float[Array, "... G-1"]:
    """Averages over the cells of the grid."""
    return (values[..., 1:] + values[..., :-1]) / 2
