"""Instances: all that nature decides about one episode, before any policy acts."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.policies import Clock
from tsgrad.problems import AnyProblem, Context, FiniteArms, Problem, largest
from tsgrad.simulation.conditions import EVERY_USER, Conditions, Moment
from tsgrad.simulation.crowds import ONE_USER, Crowd
from tsgrad.simulation.step import Feedback, feedback_of
from tsgrad.streams import Address, Noise, Stream

LATER_CONTEXTS = 8  # of users after the end, over which the final choice is averaged where contexts differ


class Observed(NamedTuple):
    """What was seen of an instance, step by step. Axes: [T] first."""

    arm: Any
    reward: Float[Array, "T"]

    def in_turns(self, arms: int) -> "ObservedTurns":
        """The same, arm by arm."""
        turn, last = _turns(self.arm, arms)
        rewards = jnp.zeros((self.reward.shape[0], arms), self.reward.dtype).at[turn - 1, self.arm].set(self.reward)
        return ObservedTurns(rewards, last)


class ObservedTurns(NamedTuple):
    """The rewards that were seen of each arm, in their order, and how many they are."""

    rewards: Float[Array, "T K"]
    number: Integer[Array, "K"]


def _turns(arms_played: Integer[Array, "T"], arms: int) -> tuple[Integer[Array, "T"], Integer[Array, "K"]]:
    """How often the arm of each step had been played by then, that step included; and each arm in all."""
    plays = jnp.cumsum(arms_played[:, None] == jnp.arange(arms), axis=0)
    return jnp.take_along_axis(plays, arms_played[:, None], axis=1)[:, 0], plays[-1]


class Instance(eqx.Module):
    """An episode (theta, xi): the world, its contexts [T], and the noise that gives every (turn, arm) its reward.

    A turn is a play of an arm: what an arm pays depends on how often it has been played, not on when. So rollouts of
    one episode that play an arm at different times still see the same rewards, come to the same beliefs, and are good
    baselines of each other. Where users have features, or arms are infinitely many, the turn is the step.

    Where `observed` is set, those rewards stand as they were seen, and say what they can about the others. Conditions
    say how it is played: `crowd` is who comes at a step; `later` are contexts of users who come once it has ended.
    """

    nature: Problem
    world: Any
    contexts: Context
    reward_noise: Noise
    horizon: int = eqx.field(static=True)
    observed: Observed | ObservedTurns | None = None
    conditions: Conditions = EVERY_USER
    crowd: Crowd = ONE_USER
    delay_noise: Noise | None = None
    later: Context | None = None

    def reward(self, turn: Integer[Array, ""], context: Context, arm: Any) -> Float[Array, ""]:
        """The reward of an arm at a turn: the same, whoever asks."""
        noise = self.reward_noise.step(turn)
        if isinstance(self.observed, Observed):
            seen_arm, seen_reward = jax.tree.map(lambda leaf: leaf[turn - 1], self.observed)
            return self.nature.reward_beside(self.world, context, arm, noise, seen_arm, seen_reward)
        drawn = self.nature.reward(self.world, context, arm, noise)
        if self.observed is None:
            return drawn
        return jnp.where(turn <= self.observed.number[arm], self.observed.rewards[turn - 1, arm], drawn)

    def pay(self, t: Integer[Array, ""], context: Context, played: Any, plays: Any) -> Any:
        """What is paid for what is played at step t; `plays` is how often each arm was before, as `no_plays` counts."""
        return self.crowd.pay(self, t, context, played, plays)

    def no_plays(self) -> Integer[Array, "K"] | None:
        """How often each arm was played before the first step; None where a turn is a step."""
        if not _has_turns(self.nature, self.contexts, self.crowd):
            return None
        assert isinstance(self.nature, FiniteArms)
        return jnp.zeros(self.nature.arms, jnp.int32)

    def clock(self, t: Integer[Array, ""]) -> Clock:
        """What a policy sees of the time at step t."""
        return self.conditions.clock(t, self.horizon)

    def moment(self, t: Integer[Array, ""]) -> Moment:
        """Step t, for those who decide at it."""
        return Moment(t, self.horizon, self.conditions)

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
        before = self.no_plays()
        if before is not None:
            turn, _ = _turns(played, before.shape[0])
            return jax.vmap(self.reward)(turn, self.contexts, played)

        def of_step(t: Integer[Array, ""], context: Context, played: Any) -> Float[Array, ""]:
            return self.crowd.total(self.crowd.recorded(self.pay(t, context, played, None)))

        return jax.vmap(of_step)(self.times, self.contexts, played)

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
    that were seen at their turns, all others from fresh noise under the new world.

    Given what was seen it has the law of the instance itself, so that what is computed from it has, too.
    """
    world = model.posterior(final_belief).sample(address.noise(Stream.POSTERIOR))
    fresh = address.noise(Stream.REDRAWN_REWARD)
    horizon = observed.reward.shape[0]
    seen: Observed | ObservedTurns = observed
    if _has_turns(model, contexts, ONE_USER if live is None else live.crowd):
        assert isinstance(model, FiniteArms)
        seen = observed.in_turns(model.arms)
    if live is None:
        return Instance(model, world, contexts, fresh, horizon, seen)
    return Instance(
        model,
        world,
        contexts,
        fresh,
        horizon,
        seen,
        conditions=live.conditions,
        crowd=live.crowd,
        later=live.later,
    )


def _has_turns(nature: Problem, contexts: Context, crowd: Crowd) -> bool:
    """Whether nothing but how often it was played tells one play of an arm from another."""
    return isinstance(nature, FiniteArms) and crowd.single and not jax.tree.leaves(contexts.features)
