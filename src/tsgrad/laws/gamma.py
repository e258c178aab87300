"""Gamma laws of independent arms: rates of counts, and precisions. Drawn by rejection (Marsaglia and Tsang, 2000)."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.special as special
from jaxtyping import Array, Bool, Float, Integer

from tsgrad.laws.base import InOrder, OrderedLaw
from tsgrad.laws.truncated import sides, truncated_nodes
from tsgrad.streams import Noise

_MOST_ATTEMPTS = 24  # each fails with probability below 0.05, so that all of them do once in 10^31 draws


class GammaDraw(NamedTuple):
    """A positive draw, one per arm, as its logarithm: with a small shape the value itself underflows. Axes: [K]."""

    log_value: Float[Array, "K"]

    @property
    def value(self) -> Float[Array, "*batch K"]:
        return jnp.exp(self.log_value)

    @property
    def order(self) -> Float[Array, "*batch K"]:
        """The logarithm, which tells draws apart that round to 0."""
        return self.log_value

    @classmethod
    def at(cls, value: Float[Array, "K"]) -> "GammaDraw":
        """The draw that has this value, where only the value is known."""
        return cls(jnp.log(value))


class GammaLaw(OrderedLaw):
    """Independent gamma arms, with mean shape / rate.

    >>> law = GammaLaw(jnp.array([1.0]), jnp.array([2.0]))  # exponential with mean one half
    >>> print(f"{jnp.exp(law.log_prob(GammaDraw(jnp.log(jnp.array([0.5]))))):.4f}")
    0.7358
    """

    shape: Float[Array, "K"]
    rate: Float[Array, "K"]

    def sample(self, noise: Noise) -> GammaDraw:
        return GammaDraw(log_gamma(self.shape, noise) - jnp.log(self.rate))

    def arm_log_prob(self, pseudo_action: GammaDraw) -> Float[Array, "K"]:
        log_scaled = pseudo_action.log_value + jnp.log(self.rate)
        return self.shape * log_scaled - jnp.exp(log_scaled) - special.gammaln(self.shape) - pseudo_action.log_value

    def expected_log_prob(self, threshold: Float[Array, "K"], below: Bool[Array, "K"]) -> Float[Array, "K"]:
        # As laws of y = log(rate value), with log-density shape y - exp(y).
        shape, rate = jax.lax.stop_gradient((self.shape, self.rate))
        log_scaled, weight = truncated_nodes(*_of_logarithm(shape), threshold + jnp.log(rate), below)
        log_value = jnp.sum(weight * log_scaled, axis=0) - jnp.log(rate)
        value = jnp.sum(weight * jnp.exp(log_scaled), axis=0) / rate
        return (
            self.shape * jnp.log(self.rate)
            + (self.shape - 1) * log_value
            - self.rate * value
            - special.gammaln(self.shape)
        )

    def in_order(self) -> InOrder:
        shape, rate = jax.lax.stop_gradient((self.shape, self.rate))
        scaled = sides(*_of_logarithm(shape))
        log_rate, normaliser = jnp.log(self.rate), special.gammaln(self.shape)
        return InOrder(
            scaled.marks() - jnp.log(rate),
            lambda y: self.shape * (y + log_rate) - jnp.exp(y + log_rate) - normaliser,
        )


def _of_logarithm(shape: Float[Array, "K"]) -> tuple[Any, Any, Any, Any]:
    """Rise, slope, mode and curvature of the log-density of the logarithm, with a rate of one."""
    return (
        lambda y, step: shape * step - jnp.exp(y) * jnp.expm1(step),
        lambda y: shape - jnp.exp(y),
        jnp.log(shape),
        shape,
    )


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
    """Log of a Gamma(shape) draw, one per slot."""
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
