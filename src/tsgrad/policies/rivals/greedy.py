"""Greedy: no exploration at all."""

from typing import Any

import numpy as np
from jaxtyping import Array, Integer

from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.index import MOST_ENTRIES, IndexPolicy
from tsgrad.policies.rivals.base import Rival, check_applies
from tsgrad.problems import AnyProblem, Context, FiniteArms, Problem, TabledArms, largest
from tsgrad.registry import register
from tsgrad.streams import Noise


@register("greedy")
class Greedy(Memoryless, Rival):
    """Plays the arm with the largest posterior mean.

    What exploring must beat. Hard to beat where little time is left, or where there are so many arms that some good
    one turns up by chance (Bayati, Hamidi, Johari and Khosravi, 2020); elsewhere it settles on a wrong arm.

        >>> import tsgrad as tg
        >>> tg.simulate(tg.GaussianBandit(arms=3), Greedy(), horizon=1, episodes=9, seed=0).pulls.tolist()
        [1.0, 0.0, 0.0]
    """

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, FiniteArms)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        model = check_applies(self, problem)
        # As a table it has native kernels; for very long horizons there would be no place for one.
        cells = model.tabled_arms()[0].cell_count(horizon) if isinstance(model, TabledArms) else np.inf
        return IndexPolicy(table=np.zeros((1, 1, int(cells)))) if cells <= MOST_ENTRIES else self

    def act(
        self, model: Any, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        return largest(model.posterior_means(belief, context), context)
