"""The online knowledge gradient: what one more reward would improve, for the rest of the episode."""

from typing import Any

import jax.numpy as jnp
import jax.scipy.stats as stats
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import Leaf
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.rivals.base import PreparedRival, check_applies, has_normal_arms, normal_arms
from tsgrad.problems import AnyProblem, Context, Problem, largest
from tsgrad.registry import register
from tsgrad.streams import Noise


@register("knowledge-gradient")
class KnowledgeGradient(PreparedRival):
    """Plays the largest m + (T - t) step (phi(z) + z Phi(z)), z = -|m - best other m| / step (Ryzhov et al., 2012).

    step = s^2 / sqrt(s^2 + noise^2) is the standard deviation of the posterior mean after one more reward: the bonus
    is how much a single reward would raise the best posterior mean among the available arms, times the decisions left.

    Strong where noise differs between arms, since it knows what a reward is worth; weak where a single reward of a
    noisy arm changes nothing but several would.

        >>> import tsgrad as tg
        >>> tg.simulate(tg.GaussianBandit(arms=3), KnowledgeGradient(), horizon=1, episodes=9, seed=0).pulls.tolist()
        [1.0, 0.0, 0.0]
    """

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return has_normal_arms(model)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        return PreparedKnowledgeGradient(normal_arms(check_applies(self, problem)).noise_std)


class PreparedKnowledgeGradient(Memoryless, Policy):
    """What `KnowledgeGradient` prepares to be: it knows the noise of each arm. Axes: [K]."""

    noise_std: Leaf

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        mean, std = model.arm_moments(belief, context)
        variance = std**2
        step = variance / jnp.sqrt(variance + self.noise_std**2)
        gain = step * _expected_excess(-jnp.abs(mean - best_other(mean, context)) / step)
        return largest(mean + (clock.horizon - clock.t) * gain, context)


def best_other(mean: Float[Array, "K"], context: Context) -> Float[Array, "K"]:
    """The largest mean among the other available arms; far below all where there is none."""
    left_out = jnp.eye(mean.shape[0], dtype=bool)
    if context.available is not None:
        left_out |= ~context.available
    return jnp.max(jnp.where(left_out, np.finfo(mean.dtype).min, mean), axis=1)


def _expected_excess(z: Float[Array, "K"]) -> Float[Array, "K"]:
    """E max(z + Z, 0) = phi(z) + z Phi(z), for z <= 0; exactly 0 where float can't tell."""
    bounded = jnp.maximum(z, -30.0)
    return jnp.maximum(stats.norm.pdf(bounded) + bounded * stats.norm.cdf(bounded), 0.0)
