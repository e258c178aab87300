"""A step that is one user: how an arm is decided on, what it pays, and when that is seen."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Integer

from tsgrad.policies import SamplingPolicy, Uniform, computed_once
from tsgrad.problems import Context
from tsgrad.simulation.conditions import Conditions, Moment, PolicyNoise
from tsgrad.simulation.crowds.base import Crowd, Item, Known, Player


class Floored(NamedTuple):
    """A decision under a least share: the draw, the arm it led to, and whether chance decided in its place."""

    draw: Any
    arm: Integer[Array, ""]
    by_chance: Bool[Array, ""]


class Late(NamedTuple):
    """A reward, and after how many steps it is seen; one more than the longest delay means never."""

    value: Float[Array, ""]
    delay: Integer[Array, ""]


class OneUser(Crowd):
    """A step is one user: what is played is an arm, what is paid a reward."""

    single: ClassVar[bool] = True

    def contexts(self, of_users: Context, t: Integer[Array, "T"], conditions: Conditions, horizon: int) -> Context:
        return jax.vmap(conditions.applied)(of_users, t)

    def decide(
        self, player: Player, known: Known, context: Context, moment: Moment, noise: PolicyNoise
    ) -> tuple[Any, Any]:
        return decided(player, known, context, moment, noise.step(moment.t))

    def pay(self, instance: Any, t: Integer[Array, ""], context: Context, played: Any, plays: Any) -> Any:
        turn = t if plays is None else plays[played] + 1
        # Or the update of the belief would compute the noise of the reward again, and compile it twice.
        reward = computed_once(instance.reward(turn, context, played), instance.clock(t))
        return with_delay(instance, t, reward)

    def recorded(self, paid: Any) -> Any:
        return paid

    def total(self, recorded: Any) -> Float[Array, ""]:
        return jnp.asarray(value_of_paid(recorded))

    def whenever_seen(self, paid: Any) -> Any:
        return paid

    def log_prob(
        self,
        of_user: Callable[[Context, Any, Any], Any],
        shares: Callable[[], Float[Array, "K"]],
        context: Context,
        drawn: Any,
        played: Any,
    ) -> Float[Array, ""]:
        return log_prob_of_decision(of_user, context, drawn, played)

    def renew(self, player: Player, known: Known, item: Item, seen: Any) -> Known:
        seen_of_it = (item.context, item.played, value_of_paid(item.paid))
        later = Known(player.model.update(known.belief, *seen_of_it), player.policy.remember(known.memory, *seen_of_it))
        return later if seen is None else jax.tree.map(lambda one, other: jnp.where(seen, one, other), later, known)

    def all_play(self, arm_of: Callable[[Context], Any], context: Context, size: Any, arms: int) -> Any:
        return arm_of(context)

    def summed(self, value_of: Callable[[Context, Any], Any], context: Context, played: Any) -> Float[Array, ""]:
        return jnp.asarray(value_of(context, played))

    def counts(self, played: Any, arms: int) -> Float[Array, "K"]:
        return jnp.asarray(played == jnp.arange(arms), jnp.result_type(float))


ONE_USER = OneUser()


def decided(player: Player, known: Known, context: Context, moment: Moment, noise: PolicyNoise) -> tuple[Any, Any]:
    """(pseudo-action, arm): what `policy.act` plays, with the draw behind it where there is one."""
    (model, policy), (belief, memory), clock, conditions = player, known, moment.clock, moment.conditions
    if isinstance(policy, SamplingPolicy):
        draw = policy.law(model, belief, memory, context, clock).sample(noise.draw)
        pseudo_action = computed_once(draw, clock)
        arm = policy.choose(model, pseudo_action, context)
    else:
        pseudo_action, arm = None, policy.act(model, belief, memory, context, clock, noise.draw)
    if conditions.floor is None:
        return pseudo_action, arm
    assert noise.floor is not None
    there = jnp.sum(context.there(model.arms))
    by_chance = noise.floor.uniform(0) < there * conditions.floor
    any_arm = Uniform().act(model, belief, None, context, clock, noise.floor.at(1))
    return Floored(pseudo_action, arm, by_chance), jnp.where(by_chance, any_arm, arm)


def log_prob_of_decision(
    of_user: Callable[[Context, Any, Any], Any], context: Context, drawn: Any, arm: Any
) -> Float[Array, ""]:
    """The log-probability of what one user's decision was made from; nothing where chance decided, not the law."""
    if not isinstance(drawn, Floored):
        return jnp.asarray(of_user(context, drawn, arm))
    return jnp.where(drawn.by_chance, 0, of_user(context, drawn.draw, drawn.arm))


def with_delay(instance: Any, user: Integer[Array, ""], reward: Float[Array, ""]) -> Any:
    """The reward of a user, with the delay that is drawn for it where delays are random."""
    if isinstance(instance.conditions.delay, int):
        return reward
    ends = jnp.cumsum(jnp.asarray(instance.conditions.delay, reward.dtype))
    return Late(reward, jnp.sum(instance.delay_noise.step(user).uniform(0) > ends))


def value_of_paid(paid: Any) -> Any:
    """The reward itself, whenever it is seen."""
    return paid.value if isinstance(paid, Late) else paid
