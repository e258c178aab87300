"""Uniform: exploration and nothing else."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Integer

from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.rivals.base import Rival, check_applies
from tsgrad.problems import AnyProblem, Context, FiniteArms, Problem
from tsgrad.registry import register
from tsgrad.streams import Noise


@register("uniform")
class Uniform(Memoryless, Rival):
    """Plays every available arm with the same probability, whatever was seen: a randomised experiment without end.

    What any learning must beat; its regret is the cost of an experiment that is not adaptive.

        >>> import tsgrad as tg
        >>> pulls = tg.simulate(tg.GaussianBandit(arms=4), Uniform(), horizon=100, episodes=500, seed=0).pulls
        >>> print(pulls.round())
        [25. 25. 25. 25.]
    """

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, FiniteArms)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        check_applies(self, problem)
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        counted = jnp.cumsum(context.there(model.arms))
        drawn = noise.uniform(0)
        number = jnp.floor(drawn * counted[-1].astype(drawn.dtype)).astype(int)
        return jnp.argmax(counted > jnp.minimum(number, counted[-1] - 1))  # a uniform may be 1
