"""Uniform: exploration and nothing else."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Integer

from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.rivals.base import Rival, check_applies
from tsgrad.problems import AnyProblem, FiniteArms
from tsgrad.registry import register
from tsgrad.streams import Noise


@register("uniform")
class Uniform(Memoryless, Rival):
    """Plays every arm with the same probability, whatever was seen: a randomised experiment that never ends.

    What any learning must beat; its regret is what an experiment costs that is not adaptive.

        >>> import tsgrad as tg
        >>> pulls = tg.simulate(tg.GaussianBandit(arms=4), Uniform(), horizon=100, episodes=500, seed=0).pulls
        >>> print(pulls.round())
        [25. 25. 25. 25.]
    """

    problems: ClassVar[tuple[type, ...]] = (FiniteArms,)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        check_applies(self, problem)
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Any, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        arm = jnp.floor(noise.uniform(0) * model.arms).astype(int)
        return jnp.minimum(arm, model.arms - 1)  # a uniform may be 1
