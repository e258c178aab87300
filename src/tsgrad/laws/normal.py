"""Normal laws of independent arms."""

from typing import NamedTuple

import jax.numpy as jnp
import jax.scipy.stats as stats
from jaxtyping import Array, Float

from tsgrad.laws.base import ProductLaw
from tsgrad.streams import Noise


class NormalDraw(NamedTuple):
    """A draw location + scale * residual, one per arm. Axes: [K] each.

    Kept in three parts because the value alone can't give its own residual back: with scale far below
    location * epsilon, (value - location) / scale is rounding noise.
    """

    location: Float[Array, "K"]
    scale: Float[Array, "K"]
    residual: Float[Array, "K"]

    @property
    def value(self) -> Float[Array, "*batch K"]:
        return jnp.asarray(self.location + self.scale * self.residual)

    @classmethod
    def at(cls, value: Float[Array, "K"]) -> "NormalDraw":
        """The draw that has this value, where only the value is known."""
        return cls(value, jnp.zeros_like(value), jnp.zeros_like(value))


class NormalLaw(ProductLaw):
    """Independent normal arms.

    >>> law = NormalLaw(jnp.zeros(2), jnp.ones(2))
    >>> print(f"{law.log_prob(NormalDraw.at(jnp.array([0.0, 1.0]))):.4f}")
    -2.3379
    """

    location: Float[Array, "K"]
    scale: Float[Array, "K"]

    def sample(self, noise: Noise) -> NormalDraw:
        return NormalDraw(self.location, self.scale, noise.normal(jnp.arange(self.location.shape[0])))

    def arm_log_prob(self, pseudo_action: NormalDraw) -> Float[Array, "K"]:
        # At the law that made the draw the first difference is exactly zero, and the residual is recovered exactly.
        moved = (pseudo_action.location - self.location) + pseudo_action.scale * pseudo_action.residual
        return stats.norm.logpdf(moved / self.scale) - jnp.log(self.scale)

    def cdf(self, value: Float[Array, "K"]) -> Float[Array, "K"]:
        return stats.norm.cdf(value, self.location, self.scale)

    def pdf(self, value: Float[Array, "K"]) -> Float[Array, "K"]:
        return stats.norm.pdf(value, self.location, self.scale)
