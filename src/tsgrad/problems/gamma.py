"""Gamma draws at an address, by rejection (Marsaglia and Tsang, 2000), kept as logarithms."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Integer

from tsgrad.streams import Noise

_MOST_ATTEMPTS = 24  # each fails with probability below 0.05, so that all of them do once in 10^31 draws


class _Search(NamedTuple):
    attempt: Integer[Array, ""]
    accepted: Bool[Array, "K"]
    log_cube: Float[Array, "K"]


def _log_gamma_parts(
    shape: Float[Array, "K"], noise: Noise, slots: Integer[Array, "K"]
) -> tuple[Float[Array, "K"], Float[Array, "K"]]:
    """A Gamma(shape) draw is d * exp(rest): returns d and rest.

    Apart, because for a large shape the randomness is all in a small rest, which log d + rest would round away.
    """
    small = shape < 1
    d = jnp.where(small, shape + 1, shape) - 1 / 3
    c = 1 / jnp.sqrt(9 * d)

    def unfinished(search: _Search) -> Bool[Array, ""]:
        return (search.attempt < _MOST_ATTEMPTS) & ~jnp.all(search.accepted)

    def attempt(search: _Search) -> _Search:
        normal = noise.at(search.attempt, 0).normal(slots)
        uniform = noise.at(search.attempt, 1).uniform(slots)
        w = c * normal
        positive = w > -1
        log_cube = 3 * jnp.log1p(jnp.where(positive, w, 0))
        # d (1 - v + log v) at v = (1 + w)^3, multiplied out: at large d, 1 - v alone would lose all digits of w^2
        bound = normal**2 / 2 + d * (log_cube - 3 * w - 3 * w**2 - w**3)
        taken = positive & (jnp.log(uniform) < bound) & ~search.accepted
        return _Search(search.attempt + 1, search.accepted | taken, jnp.where(taken, log_cube, search.log_cube))

    start = _Search(jnp.int32(0), jnp.zeros_like(small), jnp.zeros_like(shape))
    log_cube = jax.lax.while_loop(unfinished, attempt, start).log_cube
    # Gamma(a) = Gamma(a + 1) U^(1/a) for a < 1
    boost = jnp.log(noise.at(_MOST_ATTEMPTS).uniform(slots)) / shape
    return d, log_cube + jnp.where(small, boost, 0)


def log_gamma(shape: Float[Array, "K"], noise: Noise) -> Float[Array, "K"]:
    """Log of a Gamma(shape) draw, one a slot."""
    d, rest = _log_gamma_parts(shape, noise, jnp.arange(shape.shape[0]))
    return jnp.log(d) + rest


def log_gamma_ratio(alpha: Float[Array, "K"], beta: Float[Array, "K"], noise: Noise) -> Float[Array, "K"]:
    """Log of Gamma(alpha) / Gamma(beta), which is the logit of a Beta(alpha, beta) draw.

    >>> from tsgrad.streams import Address, Purpose, Stream
    >>> noise = Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.WORLD)
    >>> print(jnp.round(jax.nn.sigmoid(log_gamma_ratio(jnp.full(3, 1e4), jnp.full(3, 1e4), noise)), 1))
    [0.5 0.5 0.5]
    """
    arms = alpha.shape[0]
    d, rest = _log_gamma_parts(jnp.concatenate([alpha, beta]), noise, jnp.arange(2 * arms))
    return jnp.log(d[:arms] / d[arms:]) + (rest[:arms] - rest[arms:])
