"""Normal-gamma laws of independent arms: a mean and the precision of its noise; the mean alone has a Student law."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from tsgrad.laws.base import InOrder, OrderedLaw
from tsgrad.laws.beta import log_beta
from tsgrad.laws.gamma import GammaDraw, GammaLaw
from tsgrad.laws.normal import NormalDraw, NormalLaw
from tsgrad.laws.truncated import sides, truncated_nodes
from tsgrad.streams import Noise


class NormalGammaDraw(NamedTuple):
    """Each arm's mean and the precision (one over the variance) of its noise. Axes: [K] each."""

    mean: NormalDraw
    precision: GammaDraw

    @property
    def order(self) -> Float[Array, "*batch K"]:
        """What arms are compared by."""
        return self.mean.value

    @property
    def coordinates(self) -> Float[Array, "C"]:
        """What the density is with respect to: means, then precisions."""
        return jnp.concatenate([self.mean.value, self.precision.value])


_CUTS = (0.1, 0.22, 0.36, 0.55, 1.0)  # a core and tails of other widths have to be seen


class NormalGammaLaw(OrderedLaw):
    """Precision ~ Gamma(shape, rate), mean | precision ~ N(location, 1 / (weight precision)), for each arm.

    The mean alone has a Student law with 2 shape degrees of freedom. Axes: [K] each.

        >>> law = NormalGammaLaw(jnp.zeros(1), jnp.ones(1), jnp.full(1, 1.5), jnp.full(1, 1.5))
        >>> draw = NormalGammaDraw(NormalDraw.at(jnp.zeros(1)), GammaDraw(jnp.zeros(1)))  # mean 0, precision 1
        >>> print(f"{jnp.exp(law.log_prob(draw)):.3f}")
        0.185
    """

    location: Float[Array, "K"]
    weight: Float[Array, "K"]
    shape: Float[Array, "K"]
    rate: Float[Array, "K"]

    def sample(self, noise: Noise) -> NormalGammaDraw:
        precision = GammaLaw(self.shape, self.rate).sample(noise.at(0))
        return NormalGammaDraw(self._mean_given(precision).sample(noise.at(1)), precision)

    def arm_log_prob(self, pseudo_action: NormalGammaDraw) -> Float[Array, "K"]:
        of_precision = GammaLaw(self.shape, self.rate).arm_log_prob(pseudo_action.precision)
        return of_precision + self._mean_given(pseudo_action.precision).arm_log_prob(pseudo_action.mean)

    def expected_log_prob(self, threshold: Float[Array, "K"], below: Bool[Array, "K"]) -> Float[Array, "K"]:
        # Of the mean alone: nothing else decides. With z = sqrt(2 shape) sinh(y) for its standardised value, the
        # Student law has the log-density -2 shape log cosh(y).
        location, scale, shape = jax.lax.stop_gradient((self.location, self._student_scale, self.shape))
        y, weight = truncated_nodes(
            *_of_student(shape), jnp.arcsinh((threshold - location) / (scale * jnp.sqrt(2 * shape))), below
        )
        moved = (location - self.location + scale * jnp.sqrt(2 * shape) * jnp.sinh(y)) / self._student_scale
        tail = jnp.sum(weight * jnp.log1p(moved**2 / (2 * self.shape)), axis=0)
        return -(self.shape + 0.5) * tail - self._log_normaliser

    def in_order(self) -> InOrder:
        # Along w with x = centre + width sinh(w), in which heavy tails are exponential.
        location, scale, shape = jax.lax.stop_gradient((self.location, self._student_scale, self.shape))
        centre, width = jnp.mean(location), jnp.max(scale)
        marks = location + scale * jnp.sqrt(2 * shape) * jnp.sinh(sides(*_of_student(shape)).marks(_CUTS))

        def log_density(w: Float[Array, "n #K"]) -> Float[Array, "n K"]:
            standardised = (centre - self.location + width * jnp.sinh(w)) / self._student_scale
            return jnp.asarray(self._log_density(standardised) + jnp.log(width * jnp.cosh(w)))

        return InOrder(jnp.arcsinh((marks - centre) / width), log_density)

    def _log_density(self, standardised: Float[Array, "n K"]) -> Float[Array, "n K"]:
        tail = jnp.log1p(standardised**2 / (2 * self.shape))
        return -(self.shape + 0.5) * tail - self._log_normaliser

    @property
    def _log_normaliser(self) -> Float[Array, "K"]:
        half = jnp.full_like(self.shape, 0.5)
        return log_beta(self.shape, half) + 0.5 * jnp.log(2 * self.shape) + jnp.log(self._student_scale)

    @property
    def _student_scale(self) -> Float[Array, "K"]:
        return jnp.sqrt(self.rate / (self.shape * self.weight))

    def _mean_given(self, precision: GammaDraw) -> NormalLaw:
        return NormalLaw(self.location, jnp.exp(-0.5 * precision.log_value) / jnp.sqrt(self.weight))


def _of_student(shape: Float[Array, "K"]) -> tuple[Any, Any, Any, Any]:
    """Rise, slope, mode and curvature of -2 shape log cosh(y), the log-density of the inverse hyperbolic sine."""
    return (
        lambda y, step: -2 * shape * jnp.log1p(2 * jnp.sinh(step / 2) ** 2 + jnp.tanh(y) * jnp.sinh(step)),
        lambda y: -2 * shape * jnp.tanh(y),
        jnp.zeros_like(shape),
        2 * shape,
    )
