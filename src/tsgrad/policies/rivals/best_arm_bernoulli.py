"""Which of several independent beta arms is best, from tables of their distribution functions.

On a grid of values x_0 < x_1 < ..., all F grow evenly within a cell: arm i is best there with probability
(F_i(x_{g+1}) - F_i(x_g)) int_0^1 prod_{l != i} F_l(u) du, by Gauss's rule with two nodes. There are no densities in it,
which may be infinite at 0 or 1, and probabilities add up to one also where a law is narrower than a cell.
"""

from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.arrays import FloatArray
from tsgrad.policies.rivals.best_arm import BestArm, information, moved_variance
from tsgrad.problems import BetaArm

_CELLS = 128  # of every grid, even in the angle arcsin sqrt(x): finer where beta laws are steep
_OWN_CELLS = 48  # of an arm whose prior is too narrow for them, over so many of its standard deviations
_REACH = 4.5
_NODES = (1 + np.array([-1.0, 1.0]) / np.sqrt(3)) / 2


def beta_grid(arms: Iterable[BetaArm]) -> FloatArray:
    """Values from 0 to 1 at which distribution functions are tabled, fine enough for the prior of each arm.

    In the angle, Beta(a, b) has a standard deviation of about 1 / (2 sqrt(a + b)), wherever its mean is.

        >>> [len(beta_grid([arm])) for arm in (BetaArm(1.0, 1.0), BetaArm(98.0, 4802.0))]
        [129, 178]
    """
    step = np.pi / 2 / _CELLS
    angles = np.linspace(0, np.pi / 2, _CELLS + 1)
    for arm in sorted(set(arms)):
        centre, width = np.arcsin(np.sqrt(arm.alpha / (arm.alpha + arm.beta))), 1 / (2 * np.sqrt(arm.alpha + arm.beta))
        own = np.linspace(centre - _REACH * width, centre + _REACH * width, _OWN_CELLS + 1)
        if own[1] - own[0] < step:
            angles = np.union1d(angles, own[(own > 0) & (own < np.pi / 2)])
    return np.asarray(np.sin(angles) ** 2)


def beta_row(arm: BetaArm, horizon: int, *, grid: FloatArray) -> FloatArray:
    """The distribution function of every cell that can be reached in `horizon` pulls, [cell, grid]."""
    from scipy import special

    alpha, beta = arm.counts(horizon + 1)
    return np.asarray(special.betainc(alpha[:, None], beta[:, None], grid))


def bernoulli_best_arm(
    mean: Float[Array, "K"], below: Float[Array, "K G"], below_after_success: Float[Array, "K G"]
) -> BestArm:
    """From each arm's posterior mean, its distribution function, and that after one more success.

    The last two give truncated means: E[theta; theta <= x] = mean * below_after_success(x).
    """
    arms = mean.shape[0]
    leader = jnp.argmax(mean)
    inside, after_inside = _inside(below), _inside(below_after_success)
    known = inside > np.finfo(inside.dtype).tiny
    share = jnp.where(known, 1 / jnp.where(known, inside, 1.0), 0.0)
    all_below = jnp.prod(inside, axis=0)
    best = _rise(below) * share * all_below  # P(A* = i, theta_i in cell)
    probability = jnp.sum(best, axis=1)
    lowered = mean[:, None] * (after_inside - inside) * share  # E[theta_j | theta_j <= x] - E theta_j
    moved = jnp.where(jnp.eye(arms, dtype=bool), 0.0, best @ lowered.T)
    moved = moved - jnp.diag(jnp.sum(moved, axis=0))
    # What the best arm earns above the leader's mean, where it is another
    gained = mean[:, None] * _rise(below_after_success) - mean[leader] * _rise(below)
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
    inside, rise = _inside(below), _rise(below)

    def of_arm(arm: Array) -> Float[Array, ""]:
        own = (arms == arm)[:, None]
        others = jnp.where(own, 1.0, inside)
        outcomes = jnp.stack([below_after_success[arm], below_after_failure[arm]])  # [2, G]
        known = others > np.finfo(others.dtype).tiny
        best_other = jnp.where(known & ~own, rise / jnp.where(known, others, 1.0), 0.0) * jnp.prod(others, axis=0)
        best_self = _rise(outcomes) @ jnp.prod(others, axis=0)
        chance = jnp.stack([mean[arm], 1 - mean[arm]])
        return information(jnp.where(own, best_self, best_other @ _inside(outcomes).T), chance)

    return jax.vmap(of_arm)(arms)


def _inside(values: Float[Array, "... G"]) -> Float[Array, "... 2*G-2"]:
    """At the nodes of each cell."""
    start, rise = values[..., :-1, None], jnp.diff(values)[..., None]
    inside = start + rise * jnp.asarray(_NODES, values.dtype)
    return inside.reshape(*values.shape[:-1], -1)


def _rise(values: Float[Array, "... G"]) -> Float[Array, "... 2*G-2"]:
    """What they grow by in each cell, shared out evenly among its nodes."""
    return jnp.repeat(jnp.diff(values) / len(_NODES), len(_NODES), axis=-1)
