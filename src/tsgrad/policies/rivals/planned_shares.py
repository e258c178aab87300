"""Shares that are planned: how a batch is best spread over arms if nothing were learned from it before it ends."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tsgrad.problems import ArmMoments, Context
from tsgrad.streams import Address, Purpose, Stream

_DRAWS = 64  # pairs z, -z of normal vectors over which the best mean is averaged, the same at every decision
_STEPS = 60
_RATE = 0.5


def expected_best(
    shares: Float[Array, "K"],
    moments: ArmMoments,
    strength: Float[Array, "K"],
    users: Any,
    context: Context,
) -> Float[Array, ""]:
    """E max_k of the posterior means after `users` were spread in these shares, by the normal approximation.

    Arm k's mean will have moved by s_k sqrt(n_k / (n_k + strength_k)) Z, n_k its users; s_k is its standard deviation
    now, and its strength how many rewards the belief about it is worth.
    """
    number = users * shares
    step = moments.std * jnp.sqrt(jnp.maximum(number, 1e-12) / (number + strength))
    noise = Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.POSTERIOR)
    drawn = noise.normal(jnp.arange(_DRAWS * shares.shape[0])).reshape(_DRAWS, -1)
    both = jnp.concatenate([drawn, -drawn]).T
    values = moments.mean[:, None] + step[:, None] * both
    return jnp.mean(_largest(context.offered(values.T).T))


@jax.custom_jvp
def _largest(values: Float[Array, "K n"]) -> Float[Array, "n"]:
    """The largest of each column; its derivative is that of the winner.

    That of `jnp.max` looks for the entry that equals the largest. Where XLA computes both anew, and rounds them
    differently, there is none.
    """
    return jnp.max(values, axis=0)


@_largest.defjvp
def _(arguments: Any, tangents: Any) -> Any:
    (values,) = arguments
    won = jnp.argmax(values, axis=0) == jnp.arange(values.shape[0])[:, None]
    return _largest(values), jnp.sum(jnp.where(won, tangents[0], 0), axis=0)


def best_shares(
    moments: ArmMoments,
    strength: Float[Array, "K"],
    context: Context,
    *,
    users: Any,
    now: Any,
    later: Any,
) -> Float[Array, "K"]:
    """The shares of `users` that maximise now sum_k p_k m_k + later E max_k of posterior means after them.

    By mirror ascent from equal shares: each step multiplies shares by exponentials of what a little more of them adds.
    """
    there = context.there(moments.mean.shape[0])
    # In units of the largest standard deviation and of all users, so that one rate serves all problems.
    unit = jnp.max(jnp.where(there, moments.std, 0)) * (now + later)

    def worth(shares: Float[Array, "K"]) -> Float[Array, ""]:
        earned = now * jnp.sum(jnp.where(there, shares * moments.mean, 0))
        return jnp.asarray((earned + later * expected_best(shares, moments, strength, users, context)) / unit)

    def ascend(step: Any, logits: Float[Array, "K"]) -> Float[Array, "K"]:
        shares = jax.nn.softmax(logits)
        slope = jax.grad(worth)(shares)
        centred = slope - jnp.sum(shares * slope)
        return logits + _RATE * jnp.where(there, jnp.clip(10 * centred, -2, 2), 0)

    start = context.offered(jnp.zeros(moments.mean.shape))
    return jax.nn.softmax(jax.lax.fori_loop(0, _STEPS, ascend, start))
