"""Gaussian arms with known noise: the paper's main example."""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import check_arms, check_array
from tsgrad.laws import NormalDraw, NormalLaw
from tsgrad.laws.largest import largest_normal
from tsgrad.problems.assumptions import ENDS, Assumed, assumed
from tsgrad.problems.base import ArmMoments, Context
from tsgrad.problems.precision import float32_limits, near, within
from tsgrad.problems.summed import SummedArms, Sums, normal_sums
from tsgrad.problems.tabled import NormalArm, TabledArms
from tsgrad.problems.variations import changed, drift_spread, with_noise, with_shifted_means, with_strength
from tsgrad.registry import register
from tsgrad.streams import Noise


class GaussianBelief(NamedTuple):
    """How often each arm was pulled, and by how much its rewards exceed the prior mean, in all. Axes: [K] each.

    Rewards themselves would add up to numbers in which float32 has no digits left for what they tell.
    """

    pulls: Float[Array, "K"]
    total: Float[Array, "K"]


def normal_posterior(
    belief: GaussianBelief, centre: Leaf, prior_shift: Leaf, prior_variance: Leaf, precision_ratio: Leaf
) -> NormalLaw:
    """N(c + (m - c + rho S) / (1 + rho N), v / (1 + rho N)): prior mean m and variance v, rho = v / noise variance.

    S is what rewards exceed the centre c by, in all; `prior_shift` is m - c.
    """
    shrinkage = 1 / (1 + precision_ratio * belief.pulls)
    shift = (prior_shift + precision_ratio * belief.total) * shrinkage
    return NormalLaw(centre + shift, jnp.sqrt(prior_variance * shrinkage))


@register("gaussian")
class GaussianBandit(TabledArms, SummedArms):
    """Arms with normal rewards: theta_a ~ N(prior_mean, prior_std^2), reward | theta ~ N(theta_a, noise_std^2).

    Args:
        prior_mean: of each arm's expected reward: one number, or one per arm.
        prior_std: of each arm's expected reward, likewise.
        noise_std: the standard deviation of a reward around its expectation, likewise.
        arms: the number of arms; needed if all other arguments are single numbers.

    Raises:
        BadInput: if a standard deviation is not above zero, or the numbers of arms differ.

        >>> GaussianBandit(noise_std=[0.1, 0.4, 1.0, 4.0, 10.0]).arms
        5
        >>> GaussianBandit(arms=3, noise_std=-1)
        Traceback (most recent call last):
        tsgrad_runtime.checks.BadInput: noise_std must be > 0, got -1.0

    """

    normal_arms: ClassVar[bool] = True
    ordered_worlds: ClassVar[bool] = True

    prior_mean: Leaf
    prior_std: Leaf
    noise_std: Leaf

    def __init__(
        self, *, prior_mean: Any = 0.0, prior_std: Any = 1.0, noise_std: Any = 1.0, arms: int | None = None
    ) -> None:
        self.prior_mean, self.prior_std, self.noise_std = check_arms(
            arms,
            prior_mean=check_array("prior_mean", prior_mean),
            prior_std=check_array("prior_std", prior_std, above=0),
            noise_std=check_array("noise_std", noise_std, above=0),
        )

    @property
    def arms(self) -> int:
        return int(self.prior_mean.shape[0])

    @property
    def precision_ratio(self) -> Any:
        """Prior variance over noise variance: the weight of one reward against the prior. Axes: [K]."""
        return (self.prior_std / self.noise_std) ** 2

    def draw_world(self, noise: Noise) -> NormalDraw:
        return self.posterior(self.prior(0)).sample(noise)

    def means(self, world: NormalDraw, context: Context) -> Float[Array, "K"]:
        return world.value

    def reward(self, world: NormalDraw, context: Context, arm: Integer[Array, ""], noise: Noise) -> Float[Array, ""]:
        return self.mean(world, context, arm) + jnp.asarray(self.noise_std)[arm] * noise.normal(arm)

    def prior(self, horizon: int) -> GaussianBelief:
        return GaussianBelief(jnp.zeros(self.arms), jnp.zeros(self.arms))

    def evidence(self, rewards: Float[Array, "K"]) -> GaussianBelief:
        return GaussianBelief(jnp.ones_like(rewards), rewards - self.prior_mean)

    def reward_sums(self, world: NormalDraw, count: Float[Array, "K"], noise: Noise) -> Sums:
        return normal_sums(world.value, jnp.asarray(self.noise_std, count.dtype), count, noise)

    def reward_variances(self, world: NormalDraw) -> Float[Array, "K"]:
        return jnp.broadcast_to(jnp.asarray(self.noise_std**2), world.value.shape)

    def evidence_of_sums(self, sums: Sums) -> GaussianBelief:
        return GaussianBelief(sums.users, sums.total - sums.users * self.prior_mean)

    def posterior(self, belief: GaussianBelief) -> NormalLaw:
        return normal_posterior(belief, self.prior_mean, 0.0, self.prior_std**2, self.precision_ratio)

    def arm_moments(self, belief: GaussianBelief, context: Context) -> ArmMoments:
        law = self.posterior(belief)
        return ArmMoments(law.location, law.scale)

    def strength(self, belief: GaussianBelief, context: Context) -> Float[Array, "K"]:
        return jnp.asarray(belief.pulls + 1 / self.precision_ratio)

    def tabled_arms(self) -> list[NormalArm]:
        return [NormalArm(float(std), float(noise)) for std, noise in zip(self.prior_std, self.noise_std, strict=True)]

    def cells(self, belief: GaussianBelief) -> Integer[Array, "K"]:
        return belief.pulls.astype(int)

    def expected_best_mean(self, pulls: int | None = None) -> float:
        ratio = self.precision_ratio
        known = 1.0 if pulls is None else ratio * pulls / (1 + ratio * pulls)
        return largest_normal(self.prior_mean, self.prior_std * np.sqrt(known))

    @property
    def prior_strength(self) -> FloatArray:
        return np.asarray(1 / self.precision_ratio)


@float32_limits.register
def _(problem: GaussianBandit) -> Iterator[str]:
    yield from within("prior_std", problem.prior_std)
    yield from within("noise_std", problem.noise_std)
    yield from within("prior_std / noise_std", problem.prior_std / problem.noise_std)
    yield from near("prior_mean", problem.prior_mean, problem.prior_std)


@with_strength.register
def _(problem: GaussianBandit, factor: float) -> GaussianBandit:
    stronger: GaussianBandit = changed(problem, prior_std=problem.prior_std / factor**0.5)
    return stronger


@with_shifted_means.register
def _(problem: GaussianBandit, deviations: float) -> GaussianBandit:
    shifted: GaussianBandit = changed(problem, prior_mean=problem.prior_mean + deviations * problem.prior_std)
    return shifted


@with_noise.register
def _(problem: GaussianBandit, factor: float) -> GaussianBandit:
    noisier: GaussianBandit = changed(problem, noise_std=problem.noise_std * factor)
    return noisier


@drift_spread.register
def _(problem: GaussianBandit) -> FloatArray:
    return np.asarray(problem.prior_std)


@assumed.register
def _(problem: GaussianBandit) -> Assumed:
    from scipy import stats

    low, high = (stats.norm.ppf(end, problem.prior_mean, problem.prior_std) for end in ENDS)
    return Assumed(low, high, problem.noise_std)
