"""Instances: all that nature decides about one episode, before any policy acts."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.problems import AnyProblem, Context, Problem
from tsgrad.simulation.workload import ALL_ARMS, Conditions
from tsgrad.streams import Address, Noise, Stream


class Observed(NamedTuple):
    """What was seen of an instance. Axes: [T] first."""

    arm: Any
    reward: Float[Array, "T"]


class Instance(eqx.Module):
    """An episode (theta, xi): the world, its contexts [T], and the noise that gives every (t, arm) its reward.

    Where `observed` is set, those rewards stand as they were seen, and say what they can about the others.
    """

    nature: Problem
    world: Any
    contexts: Context
    reward_noise: Noise
    horizon: int = eqx.field(static=True)
    observed: Observed | None = None

    def reward(self, t: Integer[Array, ""], context: Context, arm: Any) -> Float[Array, ""]:
        """The reward of an arm at step t: the same, whoever asks."""
        noise = self.reward_noise.step(t)
        if self.observed is None:
            return self.nature.reward(self.world, context, arm, noise)
        seen_arm, seen_reward = jax.tree.map(lambda leaf: leaf[t - 1], self.observed)
        return self.nature.reward_beside(self.world, context, arm, noise, seen_arm, seen_reward)

    @property
    def times(self) -> Integer[Array, "T"]:
        """1..T."""
        return jnp.arange(1, self.horizon + 1)

    def best_arms(self) -> Any:
        """The best arm of every step. Axes: [T] first."""
        return jax.vmap(lambda _, context: self.nature.best_arm(self.world, context))(self.times, self.contexts)

    def means(self, arms: Any) -> Float[Array, "T"]:
        """The expected rewards of the arms played, [T] first."""
        return jax.vmap(lambda arm, context: self.nature.mean(self.world, context, arm))(arms, self.contexts)

    def rewards(self, arms: Any) -> Float[Array, "T"]:
        """The rewards of the arms played, [T] first."""
        return jax.vmap(self.reward)(self.times, self.contexts, arms)


def draw_instance(problem: AnyProblem, address: Address, horizon: int, conditions: Conditions = ALL_ARMS) -> Instance:
    """The instance at an address: the same for every policy and every estimator."""
    truth = problem.truth
    context_noise = address.noise(Stream.CONTEXT)

    def next_context(previous: Any, t: Integer[Array, ""]) -> tuple[Any, Any]:
        context = truth.draw_context(previous, context_noise.step(t), t)
        return context, context

    steps = jnp.arange(1, horizon + 1)
    first = truth.draw_context(None, context_noise.step(1), steps[0])
    _, later = jax.lax.scan(next_context, first, steps[1:])
    contexts = jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest]), first, later)
    contexts = jax.vmap(conditions.applied)(contexts, steps)
    world = truth.draw_world(address.noise(Stream.WORLD))
    return Instance(truth, world, contexts, address.noise(Stream.REWARD), horizon)


def redraw_instance(
    model: Problem, contexts: Context, final_belief: Any, observed: Observed, address: Address
) -> Instance:
    """The instance drawn anew given all that one rollout saw of it: the world from the final posterior, the rewards
    that were seen at their (t, arm), all others from fresh noise under the new world.

    Given what was seen it has the law of the instance itself, so that what is computed from it has, too.
    """
    world = model.posterior(final_belief).sample(address.noise(Stream.POSTERIOR))
    fresh = address.noise(Stream.REDRAWN_REWARD)
    return Instance(model, world, contexts, fresh, observed.reward.shape[0], observed)
