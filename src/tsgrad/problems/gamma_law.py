"""Gamma laws: rates of counts, and precisions."""

from typing import NamedTuple

import jax.numpy as jnp
import jax.scipy.special as special
import jax.scipy.stats as stats
from jaxtyping import Array, Float

from tsgrad.problems.gamma import log_gamma
from tsgrad.problems.laws import ProductLaw
from tsgrad.streams import Noise


class GammaDraw(NamedTuple):
    """A positive draw, one per arm, as its logarithm: with a small shape the value itself underflows. Axes: [K]."""

    log_value: Float[Array, "K"]

    @property
    def value(self) -> Float[Array, "*batch K"]:
        return jnp.exp(self.log_value)

    @classmethod
    def at(cls, value: Float[Array, "K"]) -> "GammaDraw":
        """The draw that has this value, where only the value is known."""
        return cls(jnp.log(value))


class GammaLaw(ProductLaw):
    """Independent gamma arms, with mean shape / rate.

    >>> law = GammaLaw(jnp.array([1.0]), jnp.array([2.0]))  # exponential with mean one half
    >>> print(f"{law.pdf(jnp.array([0.5]))[0]:.4f} {law.cdf(jnp.array([0.5]))[0]:.4f}")
    0.7358 0.6321
    """

    shape: Float[Array, "K"]
    rate: Float[Array, "K"]

    def sample(self, noise: Noise) -> GammaDraw:
        return GammaDraw(log_gamma(self.shape, noise) - jnp.log(self.rate))

    def arm_log_prob(self, pseudo_action: GammaDraw) -> Float[Array, "K"]:
        log_scaled = pseudo_action.log_value + jnp.log(self.rate)
        return self.shape * log_scaled - jnp.exp(log_scaled) - special.gammaln(self.shape) - pseudo_action.log_value

    def cdf(self, value: Float[Array, "K"]) -> Float[Array, "K"]:
        return special.gammainc(self.shape, self.rate * value)

    def pdf(self, value: Float[Array, "K"]) -> Float[Array, "K"]:
        return stats.gamma.pdf(value, self.shape, scale=1 / self.rate)
