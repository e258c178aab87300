"""The test that industry runs: equal shares to the end, then ship the best."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from tsgrad.policies.allocating import AllocatingPolicy
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.rivals.base import Rival, check_applies
from tsgrad.problems import AnyProblem, Context, FiniteArms, Problem
from tsgrad.registry import register


def equal_shares(context: Context, arms: int) -> Float[Array, "K"]:
    """The same share for every arm that is there."""
    there = context.there(arms)
    return there / jnp.sum(there)


@register("ab-test")
class ABTest(Memoryless, AllocatingPolicy, Rival):
    """Equal shares for every available arm, whatever was seen. What it learns helps only those who come after the end
    (`Conditions.after`): they get the arm with the largest posterior mean.

        >>> import tsgrad as tg
        >>> users = tg.Conditions(batch=100, after=1000)
        >>> found = tg.simulate(tg.GaussianBandit(arms=4), ABTest(), horizon=1, episodes=9, seed=0, conditions=users)
        >>> float(found.pulls.sum())
        100.0
    """

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, FiniteArms)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        check_applies(self, problem)
        return self

    def shares(self, model: Any, belief: Any, memory: None, context: Context, clock: Clock) -> Float[Array, "K"]:
        return equal_shares(context, model.arms)
