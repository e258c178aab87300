"""Explore, then commit: a test with equal shares, and the best arm for all users who are left."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.arrays import Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.policies.allocating import AllocatingPolicy, Experiment, Planner
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.rivals.ab_test import equal_shares
from tsgrad.policies.rivals.base import Rival, check_applies
from tsgrad.problems import AnyProblem, Context, FiniteArms, Problem, largest
from tsgrad.registry import register

_MOST_LENGTHS = 12


@register("explore-then-commit")
class ExploreThenCommit(Memoryless, AllocatingPolicy, Planner, Rival):
    """Equal shares for the first `users`, then the arm with the largest posterior mean.

    Where `users` is left out, the best of up to 12 lengths, whole steps each, is found on training episodes.

    >>> from tsgrad.policies import Clock
    >>> from tsgrad.problems import BernoulliBandit, Context
    >>> problem = BernoulliBandit(alpha=[1, 9], beta=1)
    >>> shares = ExploreThenCommit(users=40).shares(problem, problem.prior(100), None, Context(), Clock(1, 100))
    >>> print(shares.round(2))
    [0.5 0.5]
    """

    users: Leaf | None

    def __init__(self, *, users: Any = None) -> None:
        self.users = None if users is None else check_array("users", users)

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, FiniteArms)

    def plan(self, problem: AnyProblem, experiment: Experiment) -> Policy:
        if self.users is not None:
            return self
        check_applies(self, problem)
        ends = np.cumsum(experiment.sizes)
        steps = np.arange(1, len(ends) + 1)
        if len(ends) > _MOST_LENGTHS:
            steps = np.unique(np.geomspace(1, len(ends), _MOST_LENGTHS).round().astype(int))
        tried = [ExploreThenCommit(users=float(ends[step - 1])) for step in steps]
        return max(tried, key=experiment.reward_of)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        check_applies(self, problem)
        return self

    def shares(self, model: Any, belief: Any, memory: None, context: Context, clock: Clock) -> Float[Array, "K"]:
        if self.users is None:
            raise BadInput("users must be given, or found by simulating or comparing the policy, which plans it")
        best = largest(model.posterior_means(belief, context), context) == jnp.arange(model.arms)
        return jnp.where(clock.t <= self.users, equal_shares(context, model.arms), best)
