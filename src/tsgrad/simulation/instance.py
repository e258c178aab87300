"""Instances: all that nature decides about one episode, before any policy acts."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.policies import Clock
from tsgrad.problems import AnyProblem, Context, FiniteArms, Problem, largest
from tsgrad.simulation.conditions import EVERY_USER, Conditions
from tsgrad.simulation.crowd import ONE_USER, Crowd
from tsgrad.simulation.step import Feedback, feedback_of
from tsgrad.streams import Address, Noise, Stream

LATER_CONTEXTS = 8  # of users after the end, over which the final choice is averaged where contexts differ


class Observed(NamedTuple):
    """What was seen of an instance. Axes: [T] first."""

    arm: Any
    reward: Float[Array, "T"]


class Instance(eqx.Module):
    """An episode (theta, xi): the world, its contexts [T], and the noise that gives every (t, arm) its reward.

    Where `observed` is set, those rewards stand as they were seen, and say what they can about the others. Conditions
    say how it is played: `crowd` is who comes at a step; `later` are contexts of users who come once it has ended.
    """

    nature: Problem
    world: Any
    contexts: Context
    reward_noise: Noise
    horizon: int = eqx.field(static=True)
    observed: Observed | None = None
    conditions: Conditions = EVERY_USER
    crowd: Crowd = ONE_USER
    delay_noise: Noise | None = None
    later: Context | None = None

    def reward(self, t: Integer[Array, ""], context: Context, arm: Any) -> Float[Array, ""]:
        """The reward of an arm to user t: the same, whoever asks."""
        noise = self.reward_noise.step(t)
        if self.observed is None:
            return self.nature.reward(self.world, context, arm, noise)
        seen_arm, seen_reward = jax.tree.map(lambda leaf: leaf[t - 1], self.observed)
        return self.nature.reward_beside(self.world, context, arm, noise, seen_arm, seen_reward)

    def pay(self, t: Integer[Array, ""], context: Context, played: Any) -> Any:
        """What is paid for what is played at step t."""
        return self.crowd.pay(self, t, context, played)

    def clock(self, t: Integer[Array, ""]) -> Clock:
        """What a policy sees of the time at step t."""
        return self.conditions.clock(t, self.horizon)

    @property
    def users(self) -> int:
        """How many users the episode has."""
        return self.conditions.users(self.horizon)

    @property
    def feedback(self) -> Feedback:
        """When rewards are seen."""
        return feedback_of(self.conditions, self.crowd)

    @property
    def times(self) -> Integer[Array, "T"]:
        """1..T."""
        return jnp.arange(1, self.horizon + 1)

    def best_arms(self) -> Any:
        """What the best arm of every user is: what an oracle plays at every step. Axes: [T] first."""
        arms = self.nature.arms if isinstance(self.nature, FiniteArms) else 0

        def best(t: Integer[Array, ""], context: Context) -> Any:
            return self.crowd.all_play(
                lambda context: self.nature.best_arm(self.world, context), context, self.conditions.size(t), arms
            )

        return jax.vmap(best)(self.times, self.contexts)

    def means(self, played: Any) -> Float[Array, "T"]:
        """The expected rewards of what is played, [T] first."""

        def mean(played: Any, context: Context) -> Float[Array, ""]:
            return self.crowd.summed(lambda context, arm: self.nature.mean(self.world, context, arm), context, played)

        return jax.vmap(mean)(played, self.contexts)

    def rewards(self, played: Any) -> Float[Array, "T"]:
        """The rewards of what is played, [T] first."""
        return jax.vmap(lambda t, context, played: self.crowd.total(self.crowd.recorded(self.pay(t, context, played))))(
            self.times, self.contexts, played
        )

    def final_choice(self, model: Any, belief: Any) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """What users get who come once the experiment has ended, and are given the arm with the largest posterior mean
        among those of the last step: what it is worth in this world, what the belief expects of it, and what the best
        arm is worth. Summed over these users; zero where there are none.
        """
        after = self.conditions.after
        if after is None:
            nothing = jnp.zeros(())
            return nothing, nothing, nothing
        nature: Any = self.nature

        def one(context: Context, _: Any) -> tuple[Any, Any, Any]:
            expected = model.posterior_means(belief, context)
            arm = largest(expected, context)
            best = nature.best_arm(self.world, context)
            return nature.mean(self.world, context, arm), expected[arm], nature.mean(self.world, context, best)

        assert self.later is not None
        count = 1 if not jax.tree.leaves(self.later.features) else LATER_CONTEXTS
        each = jax.vmap(one)(self.later, jnp.arange(count))
        worth, expected, best = (after * jnp.mean(values) for values in each)
        return worth, expected, best


def draw_instance(
    problem: AnyProblem,
    address: Address,
    horizon: int,
    conditions: Conditions = EVERY_USER,
    crowd: Crowd = ONE_USER,
) -> Instance:
    """The instance at an address: the same for every policy and every estimator."""
    truth = problem.truth
    context_noise = address.noise(Stream.CONTEXT)

    def next_context(previous: Any, t: Integer[Array, ""]) -> tuple[Any, Any]:
        context = truth.draw_context(previous, context_noise.step(t), t)
        return context, context

    users = conditions.users(horizon)
    first = truth.draw_context(None, context_noise.step(1), jnp.int32(1))
    many = bool(jax.tree.leaves(first))
    extra = LATER_CONTEXTS if many and conditions.after is not None else 0
    steps = jnp.arange(1, (users if many else horizon) + extra + 1)
    _, later = jax.lax.scan(next_context, first, steps[1:])
    of_users = jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest]), first, later)
    contexts = crowd.contexts(
        jax.tree.map(lambda leaf: leaf[: len(steps) - extra], of_users), jnp.arange(1, horizon + 1), conditions, horizon
    )
    world = truth.draw_world(address.noise(Stream.WORLD))
    late = None if isinstance(conditions.delay, int) else address.noise(Stream.DELAY)
    after = None
    if conditions.after is not None:
        last = jax.tree.map(lambda leaf: leaf[users:], of_users)
        after = jax.vmap(lambda context, _: conditions.applied(context, jnp.int32(horizon)))(
            last, jnp.arange(extra or 1)
        )
    return Instance(
        truth,
        world,
        contexts,
        address.noise(Stream.REWARD),
        horizon,
        conditions=conditions,
        crowd=crowd,
        delay_noise=late,
        later=after,
    )


def redraw_instance(
    model: Problem, live: Instance | None, contexts: Context, final_belief: Any, observed: Observed, address: Address
) -> Instance:
    """The instance drawn anew given all that one rollout saw of it: the world from the final posterior, the rewards
    that were seen at their (t, arm), all others from fresh noise under the new world.

    Given what was seen it has the law of the instance itself, so that what is computed from it has, too.
    """
    world = model.posterior(final_belief).sample(address.noise(Stream.POSTERIOR))
    fresh = address.noise(Stream.REDRAWN_REWARD)
    if live is None:
        return Instance(model, world, contexts, fresh, observed.reward.shape[0], observed)
    return Instance(
        model,
        world,
        contexts,
        fresh,
        live.horizon,
        observed,
        conditions=live.conditions,
        crowd=live.crowd,
        later=live.later,
    )
