"""Policies for batches: those that say what share of the users each arm gets, and those that plan for an experiment."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from tsgrad.laws import CategoricalLaw
from tsgrad.policies.base import Clock, Policy
from tsgrad.problems import AnyProblem, Context, Problem
from tsgrad.streams import Noise


class AllocatingPolicy(Policy):
    """A policy that says what share of the users each arm gets, as policies that plan for batches do."""

    @abc.abstractmethod
    def shares(self, model: Any, belief: Any, memory: Any, context: Context, clock: Clock) -> Float[Array, "K"]:
        """The share of every arm at a step; none for arms that are not available."""

    def act(self, model: Problem, belief: Any, memory: Any, context: Context, clock: Clock, noise: Noise) -> Any:
        """For a single user: each arm with the probability of its share."""
        return CategoricalLaw(jnp.log(self.shares(model, belief, memory, context, clock))).sample(noise)


class Experiment(NamedTuple):
    """What a policy that plans may know about the experiment.

    Attributes:
        sizes: the users of each step [T].
        after: how many users get the best arm once the experiment is over.
        reward_of: plays a policy on training episodes and returns the mean reward.

    """

    sizes: Any  # [T]
    after: int
    reward_of: Callable[[Policy], float]


class Planner(Policy):
    """A policy that is planned for one experiment: `plan` is called first, then `prepare` of what it returns."""

    @abc.abstractmethod
    def plan(self, problem: AnyProblem, experiment: Experiment) -> Policy:
        """The policy to play in an experiment."""
