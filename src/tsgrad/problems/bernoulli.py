"""Arms that pay one or nothing, with beta priors."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import check_arms, check_array
from tsgrad.laws import BetaDraw, BetaLaw
from tsgrad.laws.counts import binomial
from tsgrad.laws.largest import largest_beta, largest_beta_mean
from tsgrad.problems.assumptions import ENDS, Assumed, assumed
from tsgrad.problems.base import ArmMoments, Context
from tsgrad.problems.precision import STRONGEST, float32_limits, within
from tsgrad.problems.summed import SummedArms, Sums
from tsgrad.problems.tabled import BetaArm, TabledArms
from tsgrad.problems.variations import changed, drift_spread, root_trigamma, with_shifted_means, with_strength
from tsgrad.registry import register
from tsgrad.streams import Noise


class BernoulliBelief(NamedTuple):
    """What each arm has shown so far. Axes: [K] each."""

    successes: Float[Array, "K"]
    failures: Float[Array, "K"]


@register("bernoulli")
class BernoulliBandit(TabledArms, SummedArms):
    """Arms with rewards 0 or 1: theta_a ~ Beta(alpha, beta), reward | theta ~ Bernoulli(theta_a).

    Args:
        alpha: of each arm's Beta prior: one number, or one per arm.
        beta: of each arm's Beta prior, likewise.
        arms: the number of arms; needed if all other arguments are single numbers.

    Raises:
        BadInput: if `alpha` or `beta` is not above zero, or the numbers of arms differ.

        >>> problem = BernoulliBandit(alpha=[1, 9], beta=1)
        >>> print(problem.posterior_means(problem.prior(10), Context()))
        [0.5 0.9]

    """

    rewards: ClassVar[Literal["real", "binary", "count"]] = "binary"
    ordered_worlds: ClassVar[bool] = True
    ceiling: ClassVar[float | None] = 1.0

    alpha: Leaf
    beta: Leaf

    def __init__(self, *, alpha: Any = 1.0, beta: Any = 1.0, arms: int | None = None) -> None:
        self.alpha, self.beta = check_arms(
            arms, alpha=check_array("alpha", alpha, above=0), beta=check_array("beta", beta, above=0)
        )

    @property
    def arms(self) -> int:
        return int(self.alpha.shape[0])

    def draw_world(self, noise: Noise) -> BetaDraw:
        return self.posterior(self.prior(0)).sample(noise)

    def means(self, world: BetaDraw, context: Context) -> Float[Array, "K"]:
        return world.value

    def reward(self, world: BetaDraw, context: Context, arm: Integer[Array, ""], noise: Noise) -> Float[Array, ""]:
        success = noise.uniform(arm) < self.mean(world, context, arm)
        return success.astype(world.log_value.dtype)

    def prior(self, horizon: int) -> BernoulliBelief:
        return BernoulliBelief(jnp.zeros(self.arms), jnp.zeros(self.arms))

    def evidence(self, rewards: Float[Array, "K"]) -> BernoulliBelief:
        return BernoulliBelief(rewards, 1 - rewards)

    def reward_sums(self, world: BetaDraw, count: Float[Array, "K"], noise: Noise) -> Sums:
        total = binomial(count, world.value, noise)
        return Sums(count, total, total * (1 - total / jnp.maximum(count, 1)))

    def reward_variances(self, world: BetaDraw) -> Float[Array, "K"]:
        return jnp.exp(world.log_value + world.log_complement)

    def evidence_of_sums(self, sums: Sums) -> BernoulliBelief:
        return BernoulliBelief(sums.total, sums.users - sums.total)

    def posterior(self, belief: BernoulliBelief) -> BetaLaw:
        return BetaLaw(self.alpha + belief.successes, self.beta + belief.failures)

    def arm_moments(self, belief: BernoulliBelief, context: Context) -> ArmMoments:
        law = self.posterior(belief)
        total = law.alpha + law.beta
        mean = law.alpha / total
        return ArmMoments(mean, jnp.sqrt(mean * (law.beta / total) / (total + 1)))

    def strength(self, belief: BernoulliBelief, context: Context) -> Float[Array, "K"]:
        return jnp.asarray((self.alpha + self.beta) + (belief.successes + belief.failures))

    def tabled_arms(self) -> list[BetaArm]:
        return [BetaArm(float(alpha), float(beta)) for alpha, beta in zip(self.alpha, self.beta, strict=True)]

    def cells(self, belief: BernoulliBelief) -> Integer[Array, "K"]:
        successes, failures = belief.successes.astype(int), belief.failures.astype(int)
        pulls = successes + failures
        return pulls * (pulls + 1) // 2 + successes

    def expected_best_mean(self, pulls: int | None = None) -> float:
        if pulls is None:
            return largest_beta(self.alpha, self.beta)
        return largest_beta_mean(self.alpha, self.beta, pulls)

    @property
    def prior_strength(self) -> FloatArray:
        return np.asarray(self.alpha + self.beta)


@float32_limits.register
def _(problem: BernoulliBandit) -> Iterator[str]:
    yield from within("alpha", problem.alpha, high=STRONGEST)
    yield from within("beta", problem.beta, high=STRONGEST)


@with_strength.register
def _(problem: BernoulliBandit, factor: float) -> BernoulliBandit:
    stronger: BernoulliBandit = changed(problem, alpha=problem.alpha * factor, beta=problem.beta * factor)
    return stronger


@with_shifted_means.register
def _(problem: BernoulliBandit, deviations: float) -> BernoulliBandit:
    strength = problem.alpha + problem.beta
    mean = problem.alpha / strength
    std = np.sqrt(mean * (1 - mean) / (strength + 1))
    moved = np.clip(mean + deviations * std, 0.1 * mean, 1 - 0.1 * (1 - mean))
    shifted: BernoulliBandit = changed(problem, alpha=moved * strength, beta=(1 - moved) * strength)
    return shifted


@drift_spread.register
def _(problem: BernoulliBandit) -> FloatArray:
    return root_trigamma(problem.alpha, problem.beta)


@assumed.register
def _(problem: BernoulliBandit) -> Assumed:
    from scipy import stats

    low, high = (stats.beta.ppf(end, problem.alpha, problem.beta) for end in ENDS)
    return Assumed(low, high, counted=True)
