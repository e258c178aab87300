"""Gaussian arms whose noise is unknown too, with normal-inverse-gamma priors."""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import Leaf
from tsgrad.checks import check_arms, check_array
from tsgrad.laws import NormalGammaDraw, NormalGammaLaw
from tsgrad.problems.base import ArmMoments, Context
from tsgrad.problems.precision import STRONGEST, float32_limits, near, within
from tsgrad.problems.summed import SummedArms, Sums, normal_sums
from tsgrad.registry import register
from tsgrad.streams import Noise


class UnknownVarianceBelief(NamedTuple):
    """Pulls of each arm, and sums of its rewards and of their squares, counted from the prior mean. Axes: [K] each."""

    pulls: Float[Array, "K"]
    total: Float[Array, "K"]
    squares: Float[Array, "K"]


@register("unknown-variance")
class UnknownVarianceBandit(SummedArms):
    """Normal rewards with unknown mean and variance: precision ~ Gamma(shape, rate) is one over the variance, and
    mean | precision ~ N(prior_mean, 1 / (prior_weight precision)).

    Args:
        prior_mean: of each arm's expected reward: one number, or one per arm.
        prior_weight: how many rewards the prior is worth, likewise.
        shape: of the Gamma prior of the precision, likewise.
        rate: of the Gamma prior of the precision, likewise; the variance has the prior mean rate / (shape - 1).
        arms: the number of arms; needed if all other arguments are single numbers.

        >>> UnknownVarianceBandit(arms=3, shape=3.0, rate=2.0).arms
        3

    """

    ordered_worlds: ClassVar[bool] = True

    needs_scatter: ClassVar[bool] = True

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

    def means(self, world: NormalGammaDraw, context: Context) -> Float[Array, "K"]:
        return world.mean.value

    def reward(
        self, world: NormalGammaDraw, context: Context, arm: Integer[Array, ""], noise: Noise
    ) -> Float[Array, ""]:
        std = jnp.exp(-0.5 * world.precision.log_value[arm])
        return self.mean(world, context, arm) + std * noise.normal(arm)

    def prior(self, horizon: int) -> UnknownVarianceBelief:
        nothing = jnp.zeros(self.arms)
        return UnknownVarianceBelief(nothing, nothing, nothing)

    def evidence(self, rewards: Float[Array, "K"]) -> UnknownVarianceBelief:
        centred = rewards - self.prior_mean
        return UnknownVarianceBelief(jnp.ones_like(centred), centred, centred**2)

    def reward_sums(self, world: NormalGammaDraw, count: Float[Array, "K"], noise: Noise) -> Sums:
        return normal_sums(world.mean.value, jnp.exp(-0.5 * world.precision.log_value), count, noise)

    def reward_variances(self, world: NormalGammaDraw) -> Float[Array, "K"]:
        return jnp.exp(-world.precision.log_value)

    def evidence_of_sums(self, sums: Sums) -> UnknownVarianceBelief:
        assert sums.scatter is not None
        centred = sums.total - sums.users * self.prior_mean
        squares = sums.scatter + centred**2 / jnp.maximum(sums.users, 1)
        return UnknownVarianceBelief(sums.users, centred, squares)

    def posterior(self, belief: UnknownVarianceBelief) -> NormalGammaLaw:
        weight = self.prior_weight + belief.pulls
        spread = jnp.maximum(belief.squares - belief.total**2 / weight, 0)  # of rewards about the posterior mean
        return NormalGammaLaw(
            self.prior_mean + belief.total / weight, weight, self.shape + belief.pulls / 2, self.rate + spread / 2
        )

    def arm_moments(self, belief: UnknownVarianceBelief, context: Context) -> ArmMoments:
        law = self.posterior(belief)
        # A mean has variance rate / ((shape - 1) weight); below a shape of 4/3, on the way to none at all, more is not
        # said than at that shape.
        return ArmMoments(law.location, jnp.sqrt(law.rate / (jnp.maximum(law.shape - 1, law.shape / 4) * law.weight)))

    def strength(self, belief: UnknownVarianceBelief, context: Context) -> Float[Array, "K"]:
        return self.posterior(belief).weight


@float32_limits.register
def _(problem: UnknownVarianceBandit) -> Iterator[str]:
    # Squares of rewards are added up: with means that lie far apart for their noise, little of it is left of them.
    yield from within("prior_weight", problem.prior_weight, 1e-4, STRONGEST)
    yield from within("shape", problem.shape, 0.1, STRONGEST)  # below, variances exceed all of float32
    yield from within("rate", problem.rate)
    yield from near("prior_mean", problem.prior_mean, np.sqrt(problem.rate / (problem.shape * problem.prior_weight)))
