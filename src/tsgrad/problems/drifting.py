"""Arms that change while they are played: beliefs, which assume one world for all rewards, can't follow them."""

import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import Leaf
from tsgrad.checks import BadInput, check_array, check_type
from tsgrad.laws import BetaDraw, GammaDraw, NormalDraw, ProductLaw
from tsgrad.problems.base import ArmMoments, Context, FiniteArms, IndependentArms
from tsgrad.registry import register
from tsgrad.streams import Address, Noise, Purpose, Stream


@register("drifting")
class DriftingArms(FiniteArms):
    """Episodes of `base` in which every arm's expected reward follows a random walk.

    Args:
        base: a Gaussian, Bernoulli or Poisson bandit.
        step_std: the standard deviation of the walk from one user to the next: one number, or one per arm. In the units
            of normal rewards, of the log-odds where rewards are 0 or 1, and of the logarithm where they are counts.

    Raises:
        BadInput: if `base` is another bandit, or a standard deviation is below zero.

    Use it as the truth of a `Misspecified` problem whose model is `base`. Regret is against the best arm of each step.
    Where the walk stands is kept in the context, as features [K] that no policy for `base` reads.

        >>> from tsgrad.problems import BernoulliBandit
        >>> DriftingArms(base=BernoulliBandit(arms=3), step_std=0.1).arms
        3

    """

    exact_posterior: ClassVar[bool] = False

    base: IndependentArms
    step_std: Leaf

    def __init__(self, *, base: IndependentArms, step_std: Any) -> None:
        check_type("base", base, IndependentArms, remedy="such as tsgrad.BernoulliBandit(arms=3)")
        self.base, self.step_std = base, check_array("step_std", step_std)
        if jnp.any(self.step_std < 0) or self.step_std.shape not in ((), (base.arms,)):
            raise BadInput(f"step_std must be a number >= 0, or one for each of {base.arms} arms, got {step_std!r:.80}")
        # Refuses here and now worlds that nobody has said how to move.
        noise = Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.WORLD)
        jax.eval_shape(lambda: moved(base.draw_world(noise), jnp.zeros(base.arms)))

    @property
    def arms(self) -> int:
        return self.base.arms

    def draw_world(self, noise: Noise) -> Any:
        return self.base.draw_world(noise)

    def draw_context(self, previous: Context | None, noise: Noise, t: Integer[Array, ""]) -> Context:
        if previous is None:
            return Context(jnp.zeros(self.arms))
        return Context(previous.features + self.step_std * noise.normal(jnp.arange(self.arms)))

    def means(self, world: Any, context: Context) -> Float[Array, "K"]:
        return self.base.means(moved(world, context.features), context)

    def reward(self, world: Any, context: Context, arm: Integer[Array, ""], noise: Noise) -> Float[Array, ""]:
        return self.base.reward(moved(world, context.features), context, arm, noise)

    def prior(self, horizon: int) -> Any:
        return self.base.prior(horizon)

    def update(self, belief: Any, context: Context, arm: Integer[Array, ""], reward: Float[Array, ""]) -> Any:
        return self.base.update(belief, context, arm, reward)

    def posterior(self, belief: Any) -> ProductLaw:
        return self.base.posterior(belief)

    def arm_moments(self, belief: Any, context: Context) -> ArmMoments:
        return self.base.arm_moments(belief, context)

    def strength(self, belief: Any, context: Context) -> Float[Array, "K"]:
        return self.base.strength(belief, context)


@functools.singledispatch
def moved(world: Any, shift: Float[Array, "K"]) -> Any:
    """A world whose arms have moved by so much, in the units of `DriftingArms`."""
    kind = type(world).__name__
    raise BadInput(f"base must be a Gaussian, Bernoulli or Poisson bandit to drift, its worlds are {kind}")


@moved.register
def _(world: NormalDraw, shift: Float[Array, "K"]) -> NormalDraw:
    return world._replace(location=world.location + shift)


@moved.register
def _(world: BetaDraw, shift: Float[Array, "K"]) -> BetaDraw:
    logit = world.order + shift
    return BetaDraw(jax.nn.log_sigmoid(logit), jax.nn.log_sigmoid(-logit))


@moved.register
def _(world: GammaDraw, shift: Float[Array, "K"]) -> GammaDraw:
    return GammaDraw(world.log_value + shift)
