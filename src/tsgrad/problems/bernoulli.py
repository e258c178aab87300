"""Arms that pay one or nothing, with beta priors."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import Leaf
from tsgrad.checks import check_arms, check_array
from tsgrad.laws import BetaDraw, BetaLaw
from tsgrad.problems.base import IndependentArms
from tsgrad.registry import register
from tsgrad.streams import Noise


class BernoulliBelief(NamedTuple):
    """What each arm has shown so far. Axes: [K] each."""

    successes: Float[Array, "K"]
    failures: Float[Array, "K"]


@register("bernoulli")
class BernoulliBandit(IndependentArms):
    """Arms with rewards 0 or 1: theta_a ~ Beta(alpha, beta), reward | theta ~ Bernoulli(theta_a).

    Each argument is one number, or one number an arm; `arms` gives K where all are single numbers.

        >>> problem = BernoulliBandit(alpha=[1, 9], beta=1)
        >>> print(problem.posterior_means(problem.prior(10), None))
        [0.5 0.9]
    """

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

    def means(self, world: BetaDraw, context: None) -> Float[Array, "K"]:
        return world.value

    def reward(self, world: BetaDraw, context: None, arm: Integer[Array, ""], noise: Noise) -> Float[Array, ""]:
        success = noise.uniform(arm) < self.mean(world, context, arm)
        return success.astype(world.log_value.dtype)

    def prior(self, horizon: int) -> BernoulliBelief:
        return BernoulliBelief(jnp.zeros(self.arms), jnp.zeros(self.arms))

    def evidence(self, rewards: Float[Array, "K"]) -> BernoulliBelief:
        return BernoulliBelief(rewards, 1 - rewards)

    def posterior(self, belief: BernoulliBelief) -> BetaLaw:
        return BetaLaw(self.alpha + belief.successes, self.beta + belief.failures)

    def posterior_means(self, belief: BernoulliBelief, context: None) -> Float[Array, "K"]:
        law = self.posterior(belief)
        return law.alpha / (law.alpha + law.beta)
