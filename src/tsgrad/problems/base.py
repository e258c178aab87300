"""What a Bayesian bandit is: a world, rewards drawn from it, and what is believed about it.

Every method speaks of one episode; batching happens outside, once. Classes are abstract or final.
"""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.laws import Law, ProductLaw
from tsgrad.streams import Noise


class Problem(eqx.Module):
    """A Bayesian bandit: how episodes come about, and how beliefs about them are formed.

    `exact_posterior` is false where the posterior is an approximation: then metrics and worlds that are drawn from it
    carry its error.
    """

    exact_posterior: ClassVar[bool] = True

    # The truth

    @abc.abstractmethod
    def draw_world(self, noise: Noise) -> Any:
        """The unknown parameters of one episode (theta in the paper)."""

    @abc.abstractmethod
    def draw_context(self, previous: Any, noise: Noise, t: Integer[Array, ""]) -> Any:
        """What is seen before choosing at step t; `previous` is None at t = 1. None where there are no contexts."""

    @abc.abstractmethod
    def reward(self, world: Any, context: Any, arm: Any, noise: Noise) -> Float[Array, ""]:
        """The reward of an arm; its noise is the slot of the arm, so that every arm has its own."""

    # The model

    @abc.abstractmethod
    def prior(self, horizon: int) -> Any:
        """The belief before anything was seen; raises BadInput where an episode can't have that many steps."""

    @abc.abstractmethod
    def update(self, belief: Any, context: Any, arm: Any, reward: Float[Array, ""]) -> Any:
        """The belief after one more reward."""

    @abc.abstractmethod
    def posterior(self, belief: Any) -> Law:
        """The law over worlds under a belief; plain Thompson sampling draws from it."""

    # Both

    @abc.abstractmethod
    def mean(self, world: Any, context: Any, arm: Any) -> Float[Array, ""]:
        """The expected reward of an arm: mu(theta, a)."""

    @abc.abstractmethod
    def best_arm(self, world: Any, context: Any) -> Any:
        """The arm with the largest mean."""

    @abc.abstractmethod
    def posterior_mean(self, belief: Any, context: Any, arm: Any) -> Float[Array, ""]:
        """The expected reward of an arm under a belief."""

    @property
    def truth(self) -> "Problem":
        """What episodes are drawn from."""
        return self

    @property
    def model(self) -> "Problem":
        """What policies and beliefs see."""
        return self


class FiniteArms(Problem):
    """A bandit with arms 0..K-1. Ties go to the lowest index."""

    @property
    @abc.abstractmethod
    def arms(self) -> int:
        """The number of arms, K."""

    @abc.abstractmethod
    def means(self, world: Any, context: Any) -> Float[Array, "K"]:
        """The expected reward of every arm."""

    @abc.abstractmethod
    def posterior_means(self, belief: Any, context: Any) -> Float[Array, "K"]:
        """The expected reward of every arm under a belief."""

    def mean(self, world: Any, context: Any, arm: Integer[Array, ""]) -> Float[Array, ""]:
        return self.means(world, context)[arm]

    def best_arm(self, world: Any, context: Any) -> Integer[Array, ""]:
        return jnp.argmax(self.means(world, context))

    def posterior_mean(self, belief: Any, context: Any, arm: Integer[Array, ""]) -> Float[Array, ""]:
        return self.posterior_means(belief, context)[arm]


class IndependentArms(FiniteArms):
    """Arms that teach nothing about each other; a belief is per-arm statistics [K] that add up over rewards.

    What the metric `fin`, index tables and bounds need. There are no contexts.
    """

    @abc.abstractmethod
    def evidence(self, rewards: Float[Array, "K"]) -> Any:
        """What one reward of each arm adds to its statistics; the structure of a belief."""

    @abc.abstractmethod
    def posterior(self, belief: Any) -> ProductLaw: ...

    def draw_context(self, previous: Any, noise: Noise, t: Integer[Array, ""]) -> None:
        return None

    def update(self, belief: Any, context: None, arm: Integer[Array, ""], reward: Float[Array, ""]) -> Any:
        pulled = jnp.arange(self.arms) == arm
        return jax.tree.map(
            lambda statistic, added: statistic + jnp.where(pulled, added, 0),
            belief,
            self.evidence(jnp.broadcast_to(reward, (self.arms,))),
        )
