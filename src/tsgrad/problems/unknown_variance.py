"""Gaussian arms whose noise is unknown too, with normal-inverse-gamma priors."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import jax.scipy.special as special
import jax.scipy.stats as stats
from jaxtyping import Array, Float, Integer

from tsgrad.checks import Leaf, check_arms, check_array
from tsgrad.problems.base import IndependentArms
from tsgrad.problems.gamma_law import GammaDraw, GammaLaw
from tsgrad.problems.laws import NormalDraw, NormalLaw, ProductLaw
from tsgrad.registry import register
from tsgrad.streams import Noise


class UnknownVarianceBelief(NamedTuple):
    """Pulls of each arm, and sums of its rewards and of their squares, counted from the prior mean. Axes: [K] each."""

    pulls: Float[Array, "K"]
    total: Float[Array, "K"]
    squares: Float[Array, "K"]


class NormalGammaDraw(NamedTuple):
    """Each arm's mean and the precision (one over the variance) of its noise. Axes: [K] each."""

    mean: NormalDraw
    precision: GammaDraw

    @property
    def coordinates(self) -> Float[Array, "C"]:
        """What the density is with respect to: means, then precisions."""
        return jnp.concatenate([self.mean.value, self.precision.value])


class NormalGammaLaw(ProductLaw):
    """Precision ~ Gamma(shape, rate), mean | precision ~ N(location, 1 / (weight precision)), for each arm.

    `cdf` and `pdf` are those of the mean, a Student law with 2 shape degrees of freedom. Axes: [K] each.

        >>> law = NormalGammaLaw(jnp.zeros(1), jnp.ones(1), jnp.full(1, 1.5), jnp.full(1, 1.5))
        >>> print(f"{law.cdf(jnp.array([2.353]))[0]:.3f}")  # Student with three degrees of freedom
        0.950
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

    def cdf(self, value: Float[Array, "K"]) -> Float[Array, "K"]:
        standardised = (value - self.location) / self._student_scale
        freedom = 2 * self.shape
        tail = 0.5 * special.betainc(self.shape, 0.5, freedom / (freedom + standardised**2))
        return jnp.where(standardised > 0, 1 - tail, tail)

    def pdf(self, value: Float[Array, "K"]) -> Float[Array, "K"]:
        return stats.t.pdf(value, 2 * self.shape, self.location, self._student_scale)

    @property
    def _student_scale(self) -> Float[Array, "K"]:
        return jnp.sqrt(self.rate / (self.shape * self.weight))

    def _mean_given(self, precision: GammaDraw) -> NormalLaw:
        return NormalLaw(self.location, jnp.exp(-0.5 * precision.log_value) / jnp.sqrt(self.weight))


@register("unknown-variance")
class UnknownVarianceBandit(IndependentArms):
    """Normal rewards with unknown mean and variance: precision ~ Gamma(shape, rate) is one over the variance, and
    mean | precision ~ N(prior_mean, 1 / (prior_weight precision)).

    `prior_weight` is how many rewards the prior is worth; the variance has the prior mean rate / (shape - 1). Each
    argument is one number, or one number an arm; `arms` gives K where all are single numbers.

        >>> UnknownVarianceBandit(arms=3, shape=3.0, rate=2.0).arms
        3
    """

    prior_mean: Leaf
    prior_weight: Leaf
    shape: Leaf
    rate: Leaf

    def __init__(
        self,
        *,
        prior_mean: Any = 0.0,
        prior_weight: Any = 1.0,
        shape: Any = 2.0,
        rate: Any = 1.0,
        arms: int | None = None,
    ) -> None:
        self.prior_mean, self.prior_weight, self.shape, self.rate = check_arms(
            arms,
            prior_mean=check_array("prior_mean", prior_mean),
            prior_weight=check_array("prior_weight", prior_weight, above=0),
            shape=check_array("shape", shape, above=0),
            rate=check_array("rate", rate, above=0),
        )

    @property
    def arms(self) -> int:
        return int(self.prior_mean.shape[0])

    def draw_world(self, noise: Noise) -> NormalGammaDraw:
        return self.posterior(self.prior(0)).sample(noise)

    def means(self, world: NormalGammaDraw, context: None) -> Float[Array, "K"]:
        return world.mean.value

    def reward(self, world: NormalGammaDraw, context: None, arm: Integer[Array, ""], noise: Noise) -> Float[Array, ""]:
        std = jnp.exp(-0.5 * world.precision.log_value[arm])
        return self.mean(world, context, arm) + std * noise.normal(arm)

    def prior(self, horizon: int) -> UnknownVarianceBelief:
        nothing = jnp.zeros(self.arms)
        return UnknownVarianceBelief(nothing, nothing, nothing)

    def evidence(self, rewards: Float[Array, "K"]) -> UnknownVarianceBelief:
        centred = rewards - self.prior_mean
        return UnknownVarianceBelief(jnp.ones_like(centred), centred, centred**2)

    def posterior(self, belief: UnknownVarianceBelief) -> NormalGammaLaw:
        weight = self.prior_weight + belief.pulls
        spread = jnp.maximum(belief.squares - belief.total**2 / weight, 0)  # of rewards about the posterior mean
        return NormalGammaLaw(
            self.prior_mean + belief.total / weight, weight, self.shape + belief.pulls / 2, self.rate + spread / 2
        )

    def posterior_means(self, belief: UnknownVarianceBelief, context: None) -> Float[Array, "K"]:
        return self.posterior(belief).location
