"""Policies that plan every batch: the batch knowledge gradient, and residual horizon optimisation."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.arrays import Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.policies.allocating import AllocatingPolicy, Experiment, Planner
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.rivals.base import Rival, check_applies
from tsgrad.policies.rivals.planned_shares import best_shares
from tsgrad.problems import AnyProblem, Context, IndependentArms, Problem
from tsgrad.registry import register


@register("batch-knowledge-gradient")
class BatchKnowledgeGradient(Memoryless, AllocatingPolicy, Planner, Rival):
    """Shares that maximise this batch's expected reward plus, for all who come later, the expected best posterior mean
    after it: the knowledge gradient of a batch (after Frazier, Powell and Dayanik, 2008), by the normal approximation.

    `sizes` are the users of each step and `after` those who come after the end, known from the experiment where left
    out.

    >>> from tsgrad.policies import Clock
    >>> from tsgrad.problems import BernoulliBandit, Context
    >>> problem = BernoulliBandit(alpha=[1, 9], beta=1)
    >>> shares = BatchKnowledgeGradient(sizes=[100]).shares(problem, problem.prior(100), None, Context(), Clock(1, 100))
    >>> print(shares.round(2))
    [0. 1.]
    """

    sizes: Leaf | None
    after: Leaf

    def __init__(self, *, sizes: Any = None, after: Any = 0.0) -> None:
        self.sizes = None if sizes is None else check_array("sizes", sizes, above=0)
        self.after = check_array("after", after)

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, IndependentArms)

    def plan(self, problem: AnyProblem, experiment: Experiment) -> Policy:
        return BatchKnowledgeGradient(sizes=experiment.sizes, after=experiment.after) if self.sizes is None else self

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        check_applies(self, problem)
        return self

    def shares(self, model: Any, belief: Any, memory: None, context: Context, clock: Clock) -> Float[Array, "K"]:
        if self.sizes is None:
            raise BadInput("sizes must be given, or known by simulating or comparing the policy, which plans with them")
        ends = jnp.cumsum(jnp.asarray(self.sizes))
        users = ends[jnp.sum(ends < clock.t)] - clock.t + 1
        return best_shares(
            model.arm_moments(belief, context),
            model.strength(belief, context),
            context,
            users=users,
            now=users,
            later=clock.left - users + self.after,
        )


@register("residual-horizon")
class ResidualHorizon(Memoryless, AllocatingPolicy, Planner, Rival):
    """At every step the constant shares that would be best from here to the end, by the normal approximation: residual
    horizon optimisation (Che and Namkoong, 2023, "Adaptive experimentation at scale").

    They maximise the value of the final choice, for the users who come `after` the end, plus what all users until then
    earn in expectation; the paper's own objective is the final choice alone. With nobody after the end it is greedy.

    >>> from tsgrad.policies import Clock
    >>> from tsgrad.problems import BernoulliBandit, Context
    >>> problem = BernoulliBandit(alpha=[1, 9], beta=1)
    >>> shares = ResidualHorizon(after=1000).shares(problem, problem.prior(100), None, Context(), Clock(1, 100))
    >>> print(shares.round(2))
    [0.05 0.95]
    """

    after: Leaf | None

    def __init__(self, *, after: Any = None) -> None:
        self.after = None if after is None else check_array("after", after)

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, IndependentArms)

    def plan(self, problem: AnyProblem, experiment: Experiment) -> Policy:
        return ResidualHorizon(after=np.asarray(experiment.after)) if self.after is None else self

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        check_applies(self, problem)
        return self

    def shares(self, model: Any, belief: Any, memory: None, context: Context, clock: Clock) -> Float[Array, "K"]:
        if self.after is None:
            raise BadInput("after must be given, or known by simulating or comparing the policy, which plans with it")
        left = jnp.asarray(clock.left)
        return best_shares(
            model.arm_moments(belief, context),
            model.strength(belief, context),
            context,
            users=left,
            now=left,
            later=self.after,
        )
