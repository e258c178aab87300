"""What a Bayesian bandit is: a world, rewards drawn from it, and what is believed about it.

Every method is about one episode; batching happens outside, once. Classes are abstract or final. What general code
needs of a problem beyond that, the problem offers as a capability: `FiniteArms`, `IndependentArms`, `TabledArms`
(see `tsgrad.problems.tabled`), and the facts `exact_posterior`, `normal_arms` and `ceiling`.
"""

import abc
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Integer

from tsgrad.laws import Law, ProductLaw
from tsgrad.streams import Noise


class Context(NamedTuple):
    """What is seen before a choice: features of the arms and which arms there are.

    `features` is None where there are none; `available` is None where all arms can be played. A record of several
    steps or episodes has their axes first.

        >>> Context().available is None
        True
    """

    features: Any = None  # [K, d] for the library's problems; whatever yours needs
    available: Bool[Array, "*batch K"] | None = None

    def there(self, arms: int) -> Bool[Array, "*batch K"]:
        """Which of so many arms can be played, as an array even where all can.

        >>> print(Context().there(2))
        [ True  True]
        """
        return jnp.ones(arms, bool) if self.available is None else self.available

    def offered(self, values: Float[Array, "*batch K"]) -> Float[Array, "*batch K"]:
        """The values of the arms that can be played; minus infinity for the others.

        >>> print(Context(available=jnp.array([False, True])).offered(jnp.array([3.0, 1.0])))
        [-inf   1.]
        """
        return values if self.available is None else jnp.where(self.available, values, -jnp.inf)


def largest(values: Float[Array, "K"], context: Context) -> Integer[Array, ""]:
    """The available arm with the largest value; ties go to the lowest index.

    Wherever arms are compared by a number each, the one to play is found here. Laws over the arms themselves draw it,
    and a few rivals have rules of their own: the first that is good enough, any, the better of all pairs.

    Args:
        values: one per arm.
        context: which says what is available.

    Returns:
        The arm.

    >>> values = jnp.array([3.0, 1.0, 2.0])
    >>> print(largest(values, Context()), largest(values, Context(available=jnp.array([False, True, True]))))
    0 2

    """
    return jnp.argmax(context.offered(values))


class ArmMoments(NamedTuple):
    """Posterior mean and standard deviation of each arm's expected reward.

    Attributes:
        mean: of each arm [K].
        std: of each arm [K].

    """

    mean: Float[Array, "K"]
    std: Float[Array, "K"]


class Problem(eqx.Module):
    """A Bayesian bandit: how episodes come about, and how beliefs about them are formed.

    `exact_posterior` is false where the posterior is an approximation: estimators that rely on it refuse the problem.
    `rewards` says what a reward can be: any number, 0 or 1, or a count.
    """

    exact_posterior: ClassVar[bool] = True
    rewards: ClassVar[Literal["real", "binary", "count"]] = "real"

    # The truth

    @abc.abstractmethod
    def draw_world(self, noise: Noise) -> Any:
        """The unknown parameters of one episode (theta in the paper)."""

    @abc.abstractmethod
    def draw_context(self, previous: Context | None, noise: Noise, t: Integer[Array, ""]) -> Context:
        """What is seen before choosing at step t; `previous` is None at t = 1. `Context()` where there is nothing."""

    @abc.abstractmethod
    def reward(self, world: Any, context: Context, arm: Any, noise: Noise) -> Float[Array, ""]:
        """The reward of an arm; its noise is the slot of the arm, so that every arm has its own."""

    @abc.abstractmethod
    def reward_beside(
        self, world: Any, context: Context, arm: Any, noise: Noise, seen_arm: Any, seen_reward: Float[Array, ""]
    ) -> Float[Array, ""]:
        """The reward of an arm at a step at which another (or the same) arm's reward was seen, in this world."""

    # The model

    @abc.abstractmethod
    def prior(self, horizon: int) -> Any:
        """The belief before anything was seen; raises BadInput where an episode can't have that many steps."""

    @abc.abstractmethod
    def update(self, belief: Any, context: Context, arm: Any, reward: Float[Array, ""]) -> Any:
        """The belief after one more reward."""

    @abc.abstractmethod
    def posterior(self, belief: Any) -> Law:
        """The law over worlds under a belief; plain Thompson sampling draws from it."""

    # Both

    @abc.abstractmethod
    def mean(self, world: Any, context: Context, arm: Any) -> Float[Array, ""]:
        """The expected reward of an arm: mu(theta, a)."""

    @abc.abstractmethod
    def best_arm(self, world: Any, context: Context) -> Any:
        """The arm with the largest mean."""

    @abc.abstractmethod
    def posterior_mean(self, belief: Any, context: Context, arm: Any) -> Float[Array, ""]:
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
    """A bandit with arms 0..K-1. Ties go to the lowest index.

    `normal_arms` is true where the posterior of each arm's expected reward is normal: then `arm_moments` say all of it.
    `ordered_worlds` is true where a world's `order` [K] grows with the arms' means, each with its own, and tells arms
    apart whose means round to the same number, such as zero: the conditional score needs it. `ceiling` is what no
    arm's expected reward is above, where policies gain by heeding it.
    """

    normal_arms: ClassVar[bool] = False
    ordered_worlds: ClassVar[bool] = False
    ceiling: ClassVar[float | None] = None

    @property
    @abc.abstractmethod
    def arms(self) -> int:
        """The number of arms, K."""

    @abc.abstractmethod
    def means(self, world: Any, context: Context) -> Float[Array, "K"]:
        """The expected reward of every arm."""

    @abc.abstractmethod
    def arm_moments(self, belief: Any, context: Context) -> ArmMoments:
        """Mean and standard deviation, under a belief, of every arm's expected reward."""

    @abc.abstractmethod
    def strength(self, belief: Any, context: Context) -> Float[Array, "K"]:
        """How many rewards the belief about each arm is worth: the variance of a reward over that of its mean."""

    def posterior_means(self, belief: Any, context: Context) -> Float[Array, "K"]:
        """The expected reward of every arm under a belief."""
        return self.arm_moments(belief, context).mean

    def mean(self, world: Any, context: Context, arm: Integer[Array, ""]) -> Float[Array, ""]:
        return self.means(world, context)[arm]

    def best_arm(self, world: Any, context: Context) -> Integer[Array, ""]:
        return largest(world.order if self.ordered_worlds else self.means(world, context), context)

    def posterior_mean(self, belief: Any, context: Context, arm: Integer[Array, ""]) -> Float[Array, ""]:
        return self.posterior_means(belief, context)[arm]

    def reward_beside(
        self, world: Any, context: Context, arm: Any, noise: Noise, seen_arm: Any, seen_reward: Float[Array, ""]
    ) -> Float[Array, ""]:
        # Every arm has noise of its own: what was seen of one says nothing about the others.
        return jnp.where(arm == seen_arm, seen_reward, self.reward(world, context, arm, noise))


class IndependentArms(FiniteArms):
    """Arms that teach nothing about each other; a belief is per-arm statistics [K] that add up over rewards.

    What the metric `fin` and bounds need. There are no features.
    """

    @abc.abstractmethod
    def evidence(self, rewards: Float[Array, "K"]) -> Any:
        """What one reward of each arm adds to its statistics; the structure of a belief."""

    @abc.abstractmethod
    def posterior(self, belief: Any) -> ProductLaw: ...

    def draw_context(self, previous: Context | None, noise: Noise, t: Integer[Array, ""]) -> Context:
        return Context()

    def update(self, belief: Any, context: Context, arm: Integer[Array, ""], reward: Float[Array, ""]) -> Any:
        pulled = jnp.arange(self.arms) == arm
        return jax.tree.map(
            lambda statistic, added: statistic + jnp.where(pulled, added, 0),
            belief,
            self.evidence(jnp.broadcast_to(reward, (self.arms,))),
        )
