"""Which of several independent normal arms is best, by quadrature in one dimension.

With densities f, distribution functions F, D = prod F and h = f / F, everything is an integral of h_i D or h_i h_j D:

    P(A* = i) = int h_i D,    P(A* = i) (E[theta_j | A* = i] - m_j) = -s_j^2 int h_i h_j D    (i != j),

and the same for j = i from the fact that the deviations of an arm add up to zero over i.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.policies.rivals.best_arm import BestArm, information, moved_variance
from tsgrad.problems import ArmMoments, Context

_REACH = 6.0  # standard deviations, beyond which no arm is looked for
_NEVER = 40.0  # standard deviations, beyond which the density is zero in double precision, too
_BREAKS = np.array([-3.5, -1.0, 0.7, 2.2, 4.2])  # standard deviations; between two of them integrands are smooth
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
_OUTCOMES, _CHANCES = np.polynomial.hermite_e.hermegauss(24)


def far_below(belief: ArmMoments, context: Context) -> ArmMoments:
    """The same arms, those that are not available moved so far down that none is best, to the last digit.

    >>> belief = ArmMoments(jnp.array([0.0, 5.0]), jnp.ones(2))
    >>> print(far_below(belief, Context(available=jnp.array([True, False]))).mean)
    [  0. -46.]
    """
    if context.available is None:
        return belief
    lowest = jnp.max(context.offered(belief.mean - _REACH * belief.std))
    return belief._replace(mean=jnp.where(context.available, belief.mean, lowest - _NEVER * belief.std))


def gaussian_best_arm(belief: ArmMoments, once: Callable[[Any], Any] = lambda value: value) -> BestArm:
    """Probabilities, shortfalls and variances, each within 1e-4 of its scale, variances to 0.5%.

    `once` is applied to what is worth computing only once, see `tsgrad.policies.computed_once`.

        >>> best = gaussian_best_arm(ArmMoments(jnp.zeros(2), jnp.array([1.0, 1.0])))
        >>> print(*(f"{field[0]:.4f}" for field in best))  # one half, 1 / sqrt(pi), 1 / pi
        0.5000 0.5642 0.3183
    """
    arms = belief.mean.shape[0]
    leader = jnp.argmax(belief.mean)
    mean, variance = belief.mean - belief.mean[leader], belief.std**2
    x, weight = once(_nodes(mean, belief.std, _breaks(mean, belief.std)))
    below = once(_cdf(_standardised(x, mean, belief.std)))
    root = once(jnp.sqrt(jnp.prod(below, axis=0) * weight))
    # Rows h_i, 1 and x, times the root of D dx: all integrals are products of two of them.
    rows = jnp.concatenate([_hazard(x, mean, belief.std, below), jnp.ones_like(x)[None], x[None]]) * root
    rows = once(rows)
    integrals = once(rows @ rows.T)
    probability, first_moment = integrals[:arms, arms], integrals[:arms, arms + 1]
    crossed = jnp.where(jnp.eye(arms, dtype=bool), 0.0, integrals[:arms, :arms])
    moved = -crossed * variance + jnp.diag(jnp.sum(crossed, axis=0) * variance)
    # E max - m of the leader is the sum of P(A* = i) E[theta_i - theta_leader | A* = i] over the others: a sum of small
    # numbers, where E max - m itself would be a difference of large ones.
    others = jnp.arange(arms) != leader
    least = jnp.sum(jnp.where(others, first_moment - moved[:, leader], 0.0))
    return BestArm(probability, jnp.maximum(least, 0.0) - mean, moved_variance(probability, moved))


def gaussian_information(
    belief: ArmMoments, noise_std: Float[Array, "K"], once: Callable[[Any], Any] = lambda value: value
) -> Float[Array, "K"]:
    """The mutual information of A* and the next reward of each arm, in nats.

    A reward moves the mean of its arm by a normal amount and leaves less variance: over its possible outcomes, only
    the distribution function of that arm changes in P(A* = i).
    """
    arms = jnp.arange(belief.mean.shape[0])
    mean = belief.mean - jnp.max(belief.mean)
    later = (belief.std**-2 + noise_std**-2) ** -0.5
    step = belief.std / noise_std * later

    def of_arm(arm: Array) -> Float[Array, ""]:
        outcomes = mean[arm] + step[arm] * jnp.asarray(_OUTCOMES, mean.dtype)
        steep = [outcomes - 1.5 * later[arm], outcomes + 1.5 * later[arm]]
        x, weight = once(_nodes(mean, belief.std, jnp.concatenate([_breaks(mean, belief.std), *steep])))
        below = once(_cdf(_standardised(x, mean, belief.std)))
        own = (arms == arm)[:, None]
        others = once(jnp.prod(jnp.where(own, 1.0, below), axis=0) * weight)
        z = (x[:, None] - outcomes) / later[arm]
        best_other = once(jnp.where(own, 0.0, _hazard(x, mean, belief.std, below)) * others) @ once(_cdf(z))
        best_self = others @ once(jnp.exp(-(z**2) / 2)) / (np.sqrt(2 * np.pi) * later[arm])
        return information(
            once(jnp.where(own, best_self, best_other)), jnp.asarray(_CHANCES / _CHANCES.sum(), mean.dtype)
        )

    return jax.vmap(of_arm)(arms)


def _breaks(mean: Float[Array, "K"], scale: Float[Array, "K"]) -> Float[Array, "breaks"]:
    return jnp.ravel(mean[:, None] + scale[:, None] * jnp.asarray(_BREAKS, mean.dtype))


def _nodes(
    mean: Float[Array, "K"], scale: Float[Array, "K"], breaks: Float[Array, "breaks"]
) -> tuple[Float[Array, "G"], Float[Array, "G"]]:
    """Points and weights of an integral over all values that the largest of the arms can have.

    Gauss-Legendre between breaks of every arm: a narrow arm beside wide ones is seen, wherever it is.
    """
    lowest, highest = jnp.max(mean - _REACH * scale), jnp.max(mean + _REACH * scale)
    inner = jnp.clip(breaks, lowest, highest)
    ends = jnp.sort(jnp.concatenate([jnp.stack([lowest, highest]), inner]))
    half = jnp.diff(ends)[:, None] / 2
    nodes, weights = (jnp.asarray(one, mean.dtype) for one in (_NODES, _WEIGHTS))
    return jnp.ravel(ends[:-1, None] + half * (1 + nodes)), jnp.ravel(half * weights)


def _standardised(x: Float[Array, "G"], mean: Float[Array, "K"], scale: Float[Array, "K"]) -> Float[Array, "K G"]:
    return (x - mean[:, None]) * (1 / scale)[:, None]


def _cdf(z: Float[Array, "..."]) -> Float[Array, "..."]:
    return jax.lax.erfc(z * -np.sqrt(0.5)) / 2


def _hazard(
    x: Float[Array, "G"], mean: Float[Array, "K"], scale: Float[Array, "K"], below: Float[Array, "K G"]
) -> Float[Array, "K G"]:
    """h_i(x) = f_i / F_i; 0 where F is too small to matter."""
    density = jnp.exp(_standardised(x, mean, scale) ** 2 / -2) * (1 / (np.sqrt(2 * np.pi) * scale))[:, None]
    smallest = np.finfo(x.dtype).tiny
    return jnp.where(below > smallest, density / jnp.maximum(below, smallest), 0.0)
