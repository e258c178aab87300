"""Normal laws of independent arms."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.stats as stats
import numpy as np
from jaxtyping import Array, Bool, Float

from tsgrad.laws.base import InOrder, OrderedLaw
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

    @property
    def order(self) -> Float[Array, "*batch K"]:
        """What arms are compared by."""
        return self.value

    @classmethod
    def at(cls, value: Float[Array, "K"]) -> "NormalDraw":
        """The draw that has this value, where only the value is known."""
        return cls(value, jnp.zeros_like(value), jnp.zeros_like(value))


class NormalLaw(OrderedLaw):
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

    def expected_log_prob(self, threshold: Float[Array, "K"], below: Bool[Array, "K"]) -> Float[Array, "K"]:
        location, scale = jax.lax.stop_gradient((self.location, self.scale))
        cut = jnp.clip((threshold - location) / scale, -_FAR, _FAR)
        residual = jnp.where(below, -hazard(-cut), hazard(cut))
        moved = location - self.location
        square = moved**2 + scale * (2 * moved * residual + scale * (1 + cut * residual))
        return jnp.asarray(-0.5 * square / self.scale**2 - jnp.log(self.scale) - 0.5 * np.log(2 * np.pi))

    def in_order(self) -> InOrder:
        location, scale = jax.lax.stop_gradient((self.location, self.scale))
        far = (8.0 if location.dtype == jnp.float64 else 5.0) * scale
        return InOrder(
            jnp.stack([location - far, location + far]),
            lambda y: stats.norm.logpdf((y - self.location) / self.scale) - jnp.log(self.scale),
        )


_FAR = 1e4  # standard deviations: stands for infinity


# (1 + x) times Mills' ratio, for x >= 0, as a polynomial in (x - 3) / (x + 3), highest power first: interpolated at
# Chebyshev's points, right to 3e-8 and 2e-14. (`jax.scipy.special.erfcx` is zero near 9.37 in float32.)
_MILLS_SHORT = (
    0.000156963681,
    9.00673226e-05,
    -0.0012064095,
    -0.000916795842,
    0.00750259444,
    0.00291853079,
    -0.0569675268,
    0.11320777,
    -0.0411897208,
    -0.24195664,
    1.21836119,
)
_MILLS_LONG = (
    -3.2348274860693062e-08,
    3.9024440490681191e-09,
    2.7427955975998997e-07,
    1.119143511776042e-07,
    -1.0789077825155915e-06,
    -1.3430443410154267e-06,
    2.0318400303316904e-06,
    7.1162571064474909e-06,
    3.0496338022994304e-06,
    -2.3334704574944741e-05,
    -4.5596354904931942e-05,
    4.3778625744696754e-05,
    0.00026069195493752648,
    4.3611788851565138e-05,
    -0.001302591125715132,
    -0.00088906961542781313,
    0.0075431174058759399,
    0.0029096734172032201,
    -0.056974623913366877,
    0.11320908341291526,
    -0.041189368646842542,
    -0.24195670061201902,
    1.2183611948404147,
)


def hazard(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The density of a standard normal variable at x over its chance to be larger: E[z | z > x].

    By Mills' ratio, not as a quotient of two numbers that vanish together.

        >>> print(f"{hazard(jnp.array(0.0)):.4f} {hazard(jnp.array(30.0)):.4f}")
        0.7979 30.0333
    """
    size = jnp.abs(x)
    coefficients = _MILLS_LONG if size.dtype == jnp.float64 else _MILLS_SHORT
    mills = jnp.polyval(jnp.asarray(coefficients, size.dtype), (size - 3) / (size + 3)) / (1 + size)
    density = jnp.exp(-0.5 * size**2) * np.sqrt(0.5 / np.pi)
    return jnp.asarray(jnp.where(x > 0, 1 / mills, density / (1 - density * mills)))
