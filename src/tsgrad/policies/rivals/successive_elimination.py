"""Successive elimination: equal shares for all arms that may still be the best."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from tsgrad.arrays import Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.policies.allocating import AllocatingPolicy, Experiment, Planner
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.rivals.base import Rival, check_applies
from tsgrad.problems import AnyProblem, Context, FiniteArms, Problem
from tsgrad.registry import register

_WIDTHS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)


@register("successive-elimination")
class SuccessiveElimination(Memoryless, AllocatingPolicy, Planner, Rival):
    """Equal shares for every arm whose interval, its posterior mean plus and minus `width` standard deviations, reaches
    the best lower end (after Even-Dar, Mannor and Mansour, 2006, with posteriors for confidence bounds).

    Where `width` is left out, the best of six from 0.25 to 3 is found on training episodes.

    >>> from tsgrad.policies import Clock
    >>> from tsgrad.problems import BernoulliBandit, Context
    >>> problem = BernoulliBandit(alpha=[1, 9], beta=1)
    >>> shares = SuccessiveElimination(width=1.0).shares(problem, problem.prior(100), None, Context(), Clock(1, 100))
    >>> print(shares.round(2))
    [0. 1.]
    """

    width: Leaf | None

    def __init__(self, *, width: Any = None) -> None:
        self.width = None if width is None else check_array("width", width, above=0)

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, FiniteArms)

    def plan(self, problem: AnyProblem, experiment: Experiment) -> Policy:
        if self.width is not None:
            return self
        check_applies(self, problem)
        return max((SuccessiveElimination(width=width) for width in _WIDTHS), key=experiment.reward_of)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        check_applies(self, problem)
        return self

    def shares(self, model: Any, belief: Any, memory: None, context: Context, clock: Clock) -> Float[Array, "K"]:
        if self.width is None:
            raise BadInput("width must be given, or found by simulating or comparing the policy, which plans it")
        mean, std = model.arm_moments(belief, context)
        upper, lower = context.offered(mean + self.width * std), context.offered(mean - self.width * std)
        left = upper >= jnp.max(lower)
        return left / jnp.sum(left)
