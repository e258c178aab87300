"""The index of information relaxation sampling: the price at which a sampled future of an arm is still tried.

An arm, with d decisions left, against one that surely pays lambda. Knowing the arm's future is priced by the value of
perfect information W = (decisions left) E[max(theta, lambda)]: pulling at a step after which r decisions are left pays
mu_j - r (E_{j+1} - E_j), where mu_j and E_j are the means of theta and of max(theta, lambda) after j pulls. With n
pulls in all, the idle steps are best spent together where E is least among j <= n, which gives

    Val(0) = d lambda,    Val(n) = sum_{j<n} (mu_j - E_j) + d E_0 + (d - n) (lambda - min_{j<=n} E_j).

The arm is tried now if the best n leaves no idle step, or at least one pull before the idle steps.
"""

from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.stats as stats
from jaxtyping import Array, Bool, Float

from tsgrad.policies.base import Clock, computed_once

_HALVINGS = 26  # of a bracket of a few standard deviations: float32 can't tell more
_REACH = 6.0  # standard deviations, by which the bracket exceeds all sampled means


def trying_price(means: Float[Array, "K T"], stds: Float[Array, "K T"], clock: Clock) -> Float[Array, "K"]:
    """The largest lambda at which each arm is tried in its sampled future, by bisection.

    With one decision left, an arm is worth its mean:

        >>> print(trying_price(jnp.array([[0.5, 0.1]]), jnp.array([[1.0, 0.7]]), Clock(t=2, horizon=2)).round(4))
        [0.5]
    """
    reachable = jnp.arange(means.shape[1]) < clock.left
    lowest = jnp.min(jnp.where(reachable, means, jnp.inf), axis=1) - _REACH * stds[:, 0]
    highest = jnp.max(jnp.where(reachable, means, -jnp.inf), axis=1) + _REACH * stds[:, 0]

    def halve(_: Any, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = (low + high) / 2
        tried = jax.vmap(lambda mean, std, price: is_tried(mean, std, price, clock))(means, stds, middle)
        return jnp.where(tried, middle, low), jnp.where(tried, high, middle)

    low, high = jax.lax.fori_loop(0, _HALVINGS, halve, (lowest, highest))
    return jnp.asarray((low + high) / 2)


def is_tried(mean: Float[Array, "T"], std: Float[Array, "T"], price: Float[Array, ""], clock: Clock) -> Bool[Array, ""]:
    """Whether the best plan starts with a pull."""
    left = jnp.asarray(clock.left)
    j = jnp.arange(mean.shape[0])
    z = (price - mean) / std
    best = computed_once(mean + (price - mean) * stats.norm.cdf(z) + std * stats.norm.pdf(z), clock)  # E_j
    least = jax.lax.cummin(best)
    # n pulls for n = 1..T: what the first n bring, and idling at the best place among j <= n. With n = left there are
    # no idle steps, so that E_T, which the sample doesn't reach, is not needed.
    before = jnp.cumsum(mean - best) + left * best[0]
    idle = jnp.where(j + 1 < left, (left - j - 1) * (price - jnp.concatenate([least[1:], least[-1:]])), 0.0)
    value = jnp.where(j < left, before + idle, -jnp.inf)
    n = jnp.argmax(value) + 1
    idles_later = jnp.argmin(jnp.where(j <= n, best, jnp.inf)) > 0
    return (value[n - 1] >= left * price) & ((n == left) | idles_later)
