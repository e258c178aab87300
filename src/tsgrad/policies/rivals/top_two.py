"""Top-two Thompson sampling: half of the time, the best of the others."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer

from tsgrad.arrays import Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.rivals.base import Rival, check_applies
from tsgrad.problems import AnyProblem, Context, FiniteArms, Problem, largest
from tsgrad.registry import register
from tsgrad.streams import Noise

MOST_ATTEMPTS = 32


@register("top-two-thompson")
class TopTwoThompson(Memoryless, Rival):
    """With probability `beta` the best arm of a draw, else of redraws until another arm is best (Russo, 2020).

    After 32 redraws that all have the same best arm, the runner-up of the first draw is played. All of it is about
    the arms that are available.

    Made for finding the best arm, not for earning on the way: beta = 1/2 is near the best for that. It keeps trying
    contenders long after Thompson sampling has settled.

        >>> import tsgrad as tg
        >>> pulls = tg.simulate(tg.GaussianBandit(arms=2), TopTwoThompson(0.5), horizon=50, episodes=500, seed=0).pulls
        >>> print(pulls.round())
        [25. 25.]
    """

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, FiniteArms)

    beta: Leaf

    def __init__(self, beta: Any = 0.5) -> None:
        self.beta = check_array("beta", beta)
        if self.beta.ndim or not 0 <= self.beta <= 1:
            raise BadInput(f"beta must be one number from 0 to 1, got {beta!r:.80}")

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        check_applies(self, problem)
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        law = model.posterior(belief)
        # Sub-address 0 decides, 1 is the draw, 2 and later are redraws; their own sub-addresses are for the law to use.
        means = model.means(law.sample(noise.at(1)), context)
        best = largest(means, context)
        # The best arm itself, as the last of the available ones, where there is no other.
        runner_up = largest(jnp.where(jnp.arange(model.arms) == best, np.finfo(means.dtype).min, means), context)
        settled = noise.at(0).uniform(0) <= self.beta

        def unfinished(search: tuple[Array, Array]) -> Any:
            attempt, arm = search
            return ~settled & (arm == best) & (attempt < MOST_ATTEMPTS)

        def redraw(search: tuple[Array, Array]) -> tuple[Array, Array]:
            attempt, _ = search
            return attempt + 1, model.best_arm(law.sample(noise.at(2 + attempt)), context)

        _, other = jax.lax.while_loop(unfinished, redraw, (jnp.int32(0), best))
        return jnp.where(settled, best, jnp.where(other == best, runner_up, other))
