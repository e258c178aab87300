"""Arms that pay counts, with gamma priors."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import check_arms, check_array
from tsgrad.laws import GammaDraw, GammaLaw
from tsgrad.laws.counts import poisson
from tsgrad.problems.assumptions import ENDS, Assumed, assumed
from tsgrad.problems.base import ArmMoments, Context
from tsgrad.problems.precision import STRONGEST, float32_limits, within
from tsgrad.problems.summed import SummedArms, Sums
from tsgrad.problems.variations import changed, drift_spread, root_trigamma, with_shifted_means, with_strength
from tsgrad.registry import register
from tsgrad.streams import Noise


class PoissonBelief(NamedTuple):
    """How often each arm was pulled, and what its counts add up to. Axes: [K] each."""

    pulls: Float[Array, "K"]
    total: Float[Array, "K"]


@register("poisson")
class PoissonBandit(SummedArms):
    """Arms with counts for rewards: theta_a ~ Gamma(shape, rate), reward | theta ~ Poisson(theta_a).

    Args:
        shape: of each arm's Gamma prior: one number, or one per arm.
        rate: of each arm's Gamma prior, likewise; the prior mean is shape / rate.
        arms: the number of arms; needed if all other arguments are single numbers.

        >>> problem = PoissonBandit(shape=[2.0, 3.0], rate=1.0)
        >>> print(problem.posterior_means(problem.prior(10), Context()))
        [2. 3.]

    """

    rewards: ClassVar[Literal["real", "binary", "count"]] = "count"
    ordered_worlds: ClassVar[bool] = True

    tells_scatter: ClassVar[bool] = False

    shape: Leaf
    rate: Leaf

    def __init__(self, *, shape: Any = 1.0, rate: Any = 1.0, arms: int | None = None) -> None:
        self.shape, self.rate = check_arms(
            arms, shape=check_array("shape", shape, above=0), rate=check_array("rate", rate, above=0)
        )

    @property
    def arms(self) -> int:
        return int(self.shape.shape[0])

    def draw_world(self, noise: Noise) -> GammaDraw:
        return self.posterior(self.prior(0)).sample(noise)

    def means(self, world: GammaDraw, context: Context) -> Float[Array, "K"]:
        return world.value

    def reward(self, world: GammaDraw, context: Context, arm: Integer[Array, ""], noise: Noise) -> Float[Array, ""]:
        # JAX's own sampler, under a key of this step and arm alone.
        key = jax.random.wrap_key_data(jnp.stack(noise.at(noise.t, arm).key), impl="threefry2x32")
        return jax.random.poisson(key, self.mean(world, context, arm)).astype(world.log_value.dtype)

    def prior(self, horizon: int) -> PoissonBelief:
        return PoissonBelief(jnp.zeros(self.arms), jnp.zeros(self.arms))

    def evidence(self, rewards: Float[Array, "K"]) -> PoissonBelief:
        return PoissonBelief(jnp.ones_like(rewards), rewards)

    def reward_sums(self, world: GammaDraw, count: Float[Array, "K"], noise: Noise) -> Sums:
        return Sums(count, poisson(count * world.value, noise), None)

    def reward_variances(self, world: GammaDraw) -> Float[Array, "K"]:
        return world.value

    def evidence_of_sums(self, sums: Sums) -> PoissonBelief:
        return PoissonBelief(sums.users, sums.total)

    def posterior(self, belief: PoissonBelief) -> GammaLaw:
        return GammaLaw(self.shape + belief.total, self.rate + belief.pulls)

    def arm_moments(self, belief: PoissonBelief, context: Context) -> ArmMoments:
        law = self.posterior(belief)
        return ArmMoments(law.shape / law.rate, jnp.sqrt(law.shape) / law.rate)

    def strength(self, belief: PoissonBelief, context: Context) -> Float[Array, "K"]:
        return self.posterior(belief).rate


@float32_limits.register
def _(problem: PoissonBandit) -> Iterator[str]:
    yield from within("shape", problem.shape, high=STRONGEST)
    yield from within("rate", problem.rate)
    yield from within("shape / rate", problem.shape / problem.rate, high=STRONGEST)  # counts are 32 bits long


@with_strength.register
def _(problem: PoissonBandit, factor: float) -> PoissonBandit:
    stronger: PoissonBandit = changed(problem, shape=problem.shape * factor, rate=problem.rate * factor)
    return stronger


@with_shifted_means.register
def _(problem: PoissonBandit, deviations: float) -> PoissonBandit:
    factor = np.maximum(1 + deviations / np.sqrt(problem.shape), 0.1)
    shifted: PoissonBandit = changed(problem, shape=problem.shape * factor)
    return shifted


@drift_spread.register
def _(problem: PoissonBandit) -> FloatArray:
    return root_trigamma(problem.shape)


@assumed.register
def _(problem: PoissonBandit) -> Assumed:
    from scipy import stats

    low, high = (stats.gamma.ppf(end, problem.shape, scale=1 / problem.rate) for end in ENDS)
    return Assumed(low, high, counted=True)
