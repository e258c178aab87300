"""Satisficing Thompson sampling: good enough is good enough."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.policies.base import Clock, Policy
from tsgrad.policies.rivals.base import Rival, check_applies
from tsgrad.problems import AnyProblem, Context, FiniteArms, Problem
from tsgrad.registry import register
from tsgrad.streams import Noise


class FirstTries(NamedTuple):
    """The step at which each arm was first played; one beyond all steps where it was not."""

    steps: Integer[Array, ""]
    first: Integer[Array, "K"]


_NEVER = 2**31 - 1


@register("satisficing-thompson")
class SatisficingThompson(Rival):
    """Draws a world and plays, among available arms within `tolerance` of its best, the one that was tried first.

    Arms not yet tried come after those that were, in their order (Russo and Van Roy, 2022). At tolerance 0 this is
    Thompson sampling.

    For many arms and little time, where looking for the best arm takes longer than there is to profit from it.

        >>> import tsgrad as tg
        >>> few = tg.simulate(tg.GaussianBandit(arms=50), SatisficingThompson(1.0), horizon=20, episodes=500, seed=0)
        >>> all_ = tg.simulate(tg.GaussianBandit(arms=50), tg.Thompson(), horizon=20, episodes=500, seed=0)
        >>> bool(few.regret.mean() < all_.regret.mean())
        True
    """

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, FiniteArms)

    tolerance: Leaf

    def __init__(self, tolerance: Any) -> None:
        self.tolerance = check_array("tolerance", tolerance)
        if self.tolerance.ndim or self.tolerance < 0:
            raise BadInput(f"tolerance must be one number >= 0, got {tolerance!r:.80}")

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        check_applies(self, problem)
        return self

    def init(self, model: Any) -> FirstTries:
        return FirstTries(jnp.int32(0), jnp.full(model.arms, _NEVER, jnp.int32))

    def act(
        self, model: Any, belief: Any, memory: FirstTries, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        means = context.offered(model.means(model.posterior(belief).sample(noise), context))
        enough = means >= jnp.max(means) - self.tolerance
        # Two keys, the earlier try and then the lower index: arms that are not good enough come after all others.
        return jnp.argmin(jnp.where(enough, memory.first.astype(jnp.uint32), jnp.uint32(2**32 - 1)))

    def remember(self, memory: FirstTries, context: Context, arm: Any, reward: Float[Array, ""]) -> FirstTries:
        tried = (jnp.arange(memory.first.shape[0]) == arm) & (memory.first == _NEVER)
        return FirstTries(memory.steps + 1, jnp.where(tried, memory.steps, memory.first))
