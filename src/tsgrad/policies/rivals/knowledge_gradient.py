"""The online knowledge gradient: what one more reward would improve, for the rest of the episode."""

from typing import Any, ClassVar

import jax.numpy as jnp
import jax.scipy.stats as stats
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.rivals.base import Rival, check_applies
from tsgrad.problems import AnyProblem, GaussianBandit
from tsgrad.problems.gaussian import GaussianBelief
from tsgrad.registry import register
from tsgrad.streams import Noise


@register("knowledge-gradient")
class KnowledgeGradient(Memoryless, Rival):
    """Plays the largest m + (T - t) step (phi(z) + z Phi(z)), z = -|m - best other m| / step (Ryzhov et al., 2012).

    step = s^2 / sqrt(s^2 + noise^2) is the standard deviation of the posterior mean after one more reward: the bonus
    is how much a single reward would raise the best posterior mean, times the decisions left.

    Strong where noise differs between arms, since it knows what a reward is worth; weak where a single reward of a
    noisy arm changes nothing but several would.

        >>> import tsgrad as tg
        >>> tg.simulate(tg.GaussianBandit(arms=3), KnowledgeGradient(), horizon=1, episodes=9, seed=0).pulls.tolist()
        [1.0, 0.0, 0.0]
    """

    problems: ClassVar[tuple[type, ...]] = (GaussianBandit,)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        check_applies(self, problem)
        return self

    def act(
        self, model: Any, belief: GaussianBelief, memory: None, context: None, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        law = model.posterior(belief)
        mean, variance = law.location, law.scale**2
        step = variance / jnp.sqrt(variance + model.noise_std**2)
        gain = step * _expected_excess(-jnp.abs(mean - _best_other(mean)) / step)
        return jnp.argmax(mean + (clock.horizon - clock.t) * gain)


def _best_other(mean: Float[Array, "K"]) -> Float[Array, "K"]:
    """The largest mean among the other arms; far below all where there is none."""
    others = jnp.where(jnp.eye(mean.shape[0], dtype=bool), np.finfo(mean.dtype).min, mean)
    return jnp.max(others, axis=1)


def _expected_excess(z: Float[Array, "K"]) -> Float[Array, "K"]:
    """E max(z + Z, 0) = phi(z) + z Phi(z), for z <= 0; exactly 0 where float can't tell."""
    bounded = jnp.maximum(z, -30.0)
    return jnp.maximum(stats.norm.pdf(bounded) + bounded * stats.norm.cdf(bounded), 0.0)
