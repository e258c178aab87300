"""Crowds: who comes at a step. One user; many who are only counted; many with contexts or memories of their own.

What is played at a step, and what it pays, has the form that its crowd needs; nobody else looks into it.
"""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.interpreters.partial_eval import dce_jaxpr
from jaxtyping import Array, Bool, Float, Integer

from tsgrad.checks import BadInput
from tsgrad.laws.counts import binomial, multinomial, rounded
from tsgrad.policies import AllocatingPolicy, Clock, Memoryless, Policy, SamplingPolicy, Uniform, computed_once
from tsgrad.problems import AnyProblem, Context, Problem, SummedArms, Sums
from tsgrad.simulation.conditions import Conditions, available_arms
from tsgrad.streams import Noise


class PolicyNoise(NamedTuple):
    """The randomness of decisions: the policy's own, and which of them are left to chance for a least share."""

    draw: Noise
    floor: Noise

    def step(self, t: Any) -> "PolicyNoise":
        """Both at a time."""
        return PolicyNoise(self.draw.step(t), self.floor.step(t))


class Floored(NamedTuple):
    """A decision under a least share: the draw, the arm it led to, and whether chance decided in its place."""

    draw: Any
    arm: Integer[Array, ""]
    by_chance: Bool[Array, ""]


class Late(NamedTuple):
    """A reward, and after how many steps it is seen; one more than the longest delay means never."""

    value: Float[Array, ""]
    delay: Integer[Array, ""]


class Users(NamedTuple):
    """Arms of the users of a step, and which of them there are: steps may have fewer than the most. Axes: [n]."""

    arm: Any
    there: Bool[Array, "n"]


class Crowd(eqx.Module):
    """The users of a step."""

    @abc.abstractmethod
    def contexts(self, of_users: Context, t: Integer[Array, "T"], conditions: Conditions, horizon: int) -> Context:
        """What is seen at each step, from what each user is like. Axes: [users] to [T] first."""

    @abc.abstractmethod
    def decide(
        self,
        policy: Policy,
        model: Problem,
        belief: Any,
        memory: Any,
        context: Context,
        t: Integer[Array, ""],
        horizon: int,
        conditions: Conditions,
        noise: PolicyNoise,
    ) -> tuple[Any, Any]:
        """(draw, what is played)."""

    @abc.abstractmethod
    def pay(self, instance: Any, t: Integer[Array, ""], context: Context, played: Any, plays: Any) -> Any:
        """What it pays, and when that is seen; `plays` is how often each arm was played before, where that matters."""

    @abc.abstractmethod
    def recorded(self, paid: Any) -> Any:
        """What is kept of it."""

    @abc.abstractmethod
    def total(self, recorded: Any) -> Float[Array, ""]:
        """What all users of a step earned."""

    @abc.abstractmethod
    def renew(
        self,
        model: Problem,
        policy: Policy,
        belief: Any,
        memory: Any,
        context: Context,
        played: Any,
        paid: Any,
        seen: Any,
    ) -> tuple[Any, Any]:
        """Belief and memory after what was paid, or that part of it which is seen; `seen` is None for all of it."""

    @abc.abstractmethod
    def all_play(self, arm_of: Callable[[Context], Any], context: Context, size: Any, arms: int) -> Any:
        """What is played where every user gets the arm that their context calls for."""

    @abc.abstractmethod
    def summed(self, value_of: Callable[[Context, Any], Any], context: Context, played: Any) -> Float[Array, ""]:
        """The sum over users of what (context, arm) is worth."""

    @abc.abstractmethod
    def counts(self, played: Any, arms: int) -> Float[Array, "K"]:
        """How many users each arm has."""


class OneUser(Crowd):
    """A step is one user: what is played is an arm, what is paid a reward."""

    def contexts(self, of_users: Context, t: Integer[Array, "T"], conditions: Conditions, horizon: int) -> Context:
        return jax.vmap(conditions.applied)(of_users, t)

    def decide(
        self,
        policy: Policy,
        model: Problem,
        belief: Any,
        memory: Any,
        context: Context,
        t: Integer[Array, ""],
        horizon: int,
        conditions: Conditions,
        noise: PolicyNoise,
    ) -> tuple[Any, Any]:
        clock = conditions.clock(t, horizon)
        return _decide(policy, model, belief, memory, context, clock, conditions, noise.step(t))

    def pay(self, instance: Any, t: Integer[Array, ""], context: Context, played: Any, plays: Any) -> Any:
        turn = t if plays is None else plays[played] + 1
        return _with_delay(instance, t, instance.reward(turn, context, played))

    def recorded(self, paid: Any) -> Any:
        return paid

    def total(self, recorded: Any) -> Float[Array, ""]:
        return jnp.asarray(_value(recorded))

    def renew(
        self,
        model: Problem,
        policy: Policy,
        belief: Any,
        memory: Any,
        context: Context,
        played: Any,
        paid: Any,
        seen: Any,
    ) -> tuple[Any, Any]:
        reward = _value(paid)
        later = (model.update(belief, context, played, reward), policy.remember(memory, context, played, reward))
        return later if seen is None else _chosen(seen, later, (belief, memory))

    def all_play(self, arm_of: Callable[[Context], Any], context: Context, size: Any, arms: int) -> Any:
        return arm_of(context)

    def summed(self, value_of: Callable[[Context, Any], Any], context: Context, played: Any) -> Float[Array, ""]:
        return jnp.asarray(value_of(context, played))

    def counts(self, played: Any, arms: int) -> Float[Array, "K"]:
        return jnp.asarray(played == jnp.arange(arms), jnp.result_type(float))


class Listed(Crowd):
    """Users one by one, all with the same belief: each has a context, a draw and a reward at an address of their own.

    The users are those who would come one a step; `most` is how many a step has at most.
    """

    most: int = eqx.field(static=True)

    def contexts(self, of_users: Context, t: Integer[Array, "T"], conditions: Conditions, horizon: int) -> Context:
        def of_step(t: Integer[Array, ""]) -> Context:
            numbers = conditions.clock(t, horizon).t - 1 + jnp.arange(self.most)
            mine = jax.tree.map(lambda leaf: leaf[jnp.minimum(numbers, leaf.shape[0] - 1)], of_users)
            return jax.vmap(lambda context, _: conditions.applied(context, t))(mine, numbers)

        return jax.vmap(of_step)(t)

    def decide(
        self,
        policy: Policy,
        model: Problem,
        belief: Any,
        memory: Any,
        context: Context,
        t: Integer[Array, ""],
        horizon: int,
        conditions: Conditions,
        noise: PolicyNoise,
    ) -> tuple[Any, Any]:
        clock = conditions.clock(t, horizon)

        def one(number: Any, context: Context) -> tuple[Any, Any]:
            return _decide(policy, model, belief, memory, context, clock, conditions, noise.step(clock.t + number))

        numbers = jnp.arange(self.most)
        draw, arm = jax.vmap(one)(numbers, context)
        return draw, Users(arm, numbers < conditions.size(t))

    def pay(self, instance: Any, t: Integer[Array, ""], context: Context, played: Users, plays: Any) -> Any:
        first = instance.clock(t).t

        def one(number: Any, context: Context, arm: Any) -> Any:
            return _with_delay(instance, first + number, instance.reward(first + number, context, arm))

        return jax.vmap(one)(jnp.arange(self.most), context, played.arm)

    def recorded(self, paid: Any) -> Any:
        return paid

    def total(self, recorded: Any) -> Float[Array, ""]:
        return jnp.sum(_value(recorded))

    def renew(
        self,
        model: Problem,
        policy: Policy,
        belief: Any,
        memory: Any,
        context: Context,
        played: Users,
        paid: Any,
        seen: Any,
    ) -> tuple[Any, Any]:
        there = played.there if seen is None else played.there & seen

        def one(state: Any, user: Any) -> tuple[Any, None]:
            belief, memory = state
            return ONE_USER.renew(model, policy, belief, memory, *user), None

        known: tuple[Any, Any] = jax.lax.scan(one, (belief, memory), (context, played.arm, paid, there))[0]
        return known

    def all_play(self, arm_of: Callable[[Context], Any], context: Context, size: Any, arms: int) -> Users:
        numbers = jnp.arange(self.most)
        return Users(jax.vmap(lambda context, _: arm_of(context))(context, numbers), numbers < size)

    def summed(self, value_of: Callable[[Context, Any], Any], context: Context, played: Users) -> Float[Array, ""]:
        return jnp.sum(jnp.where(played.there, jax.vmap(value_of)(context, played.arm), 0))

    def counts(self, played: Users, arms: int) -> Float[Array, "K"]:
        return jnp.sum((played.arm[:, None] == jnp.arange(arms)) & played.there[:, None], axis=0).astype(float)


class Counted(Crowd):
    """Users who are only counted: what is played is how many get each arm, what is paid are sums of rewards.

    A step costs the same, however many they are.
    """

    def contexts(self, of_users: Context, t: Integer[Array, "T"], conditions: Conditions, horizon: int) -> Context:
        return jax.vmap(lambda t: conditions.applied(Context(), t))(t)

    def decide(
        self,
        policy: Policy,
        model: Any,
        belief: Any,
        memory: Any,
        context: Context,
        t: Integer[Array, ""],
        horizon: int,
        conditions: Conditions,
        noise: PolicyNoise,
    ) -> tuple[Any, Any]:
        clock = conditions.clock(t, horizon)
        users = jnp.asarray(conditions.size(t), jnp.result_type(float))
        shares = shares_of(policy, model, belief, memory, context, clock, noise.draw)
        if shares is not None:
            allocate = multinomial if conditions.allocation == "independent" else rounded
            return None, allocate(users, conditions.floored(shares, context), noise.draw.step(clock.t))
        by_chance = jnp.zeros(model.arms)
        if conditions.floor is not None:
            there = available_arms(context, model.arms).astype(users.dtype)
            floor = noise.floor.step(clock.t)
            number = binomial(users, jnp.sum(there) * conditions.floor, floor.at(0))
            by_chance = multinomial(number, there / jnp.sum(there), floor.at(1))

        def one_more(number: Any, counts: Any) -> Any:
            arm = policy.act(model, belief, memory, context, clock, noise.draw.step(clock.t + number))
            return counts + (arm == jnp.arange(model.arms))

        decided = (users - jnp.sum(by_chance)).astype(int)
        return None, jax.lax.fori_loop(0, decided, one_more, by_chance)

    def pay(
        self, instance: Any, t: Integer[Array, ""], context: Context, played: Float[Array, "K"], plays: Any
    ) -> Sums:
        first, conditions = instance.clock(t).t, instance.conditions
        reward_noise = instance.reward_noise.step(first)
        if isinstance(conditions.delay, int):
            sums: Sums = instance.nature.reward_sums(instance.world, played, reward_noise)
            return sums
        chances = conditions.pieces()
        delay_noise = instance.delay_noise.step(first)
        parts = jax.vmap(lambda arm, count: multinomial(count, chances, delay_noise.at(arm)), out_axes=1)(
            jnp.arange(played.shape[0]), played
        )
        of_delays: Sums = jax.vmap(
            lambda delay, count: instance.nature.reward_sums(instance.world, count, reward_noise.at(delay))
        )(jnp.arange(chances.shape[0]), parts)
        return of_delays

    def recorded(self, paid: Sums) -> Float[Array, ""]:
        return jnp.sum(paid.total)

    def total(self, recorded: Float[Array, ""]) -> Float[Array, ""]:
        return recorded

    def renew(
        self, model: Any, policy: Policy, belief: Any, memory: Any, context: Context, played: Any, paid: Sums, seen: Any
    ) -> tuple[Any, Any]:
        return jax.tree.map(jnp.add, belief, model.evidence_of_sums(paid)), memory

    def all_play(self, arm_of: Callable[[Context], Any], context: Context, size: Any, arms: int) -> Any:
        return jnp.asarray(size * (arm_of(context) == jnp.arange(arms)), jnp.result_type(float))

    def summed(self, value_of: Callable[[Context, Any], Any], context: Context, played: Any) -> Float[Array, ""]:
        values = jax.vmap(lambda arm: value_of(context, arm))(jnp.arange(played.shape[0]))
        return jnp.sum(played * values)

    def counts(self, played: Float[Array, "K"], arms: int) -> Float[Array, "K"]:
        return played


ONE_USER = OneUser()


def crowd_of(conditions: Conditions, problem: AnyProblem, policy: Policy) -> Crowd:
    """The cheapest crowd that is right: many users are counted where nothing but their number matters."""
    if conditions.every_user:
        return ONE_USER
    truth, model = problem.truth, problem.model
    if (
        isinstance(policy, Memoryless)
        and isinstance(truth, SummedArms)
        and isinstance(model, SummedArms)
        and (truth.tells_scatter or not model.needs_scatter)
    ):
        return Counted()
    if conditions.allocation == "proportional":
        raise BadInput(
            f"allocation must be 'independent' for {type(policy).__name__} on {type(model).__name__}: users with"
            " contexts or memories of their own are decided on one by one"
        )
    return Listed(conditions.batch if isinstance(conditions.batch, int) else max(conditions.batch))


def shares_of(
    policy: Policy, model: Any, belief: Any, memory: Any, context: Context, clock: Clock, noise: Noise
) -> Float[Array, "K"] | None:
    """The chance of each arm at a decision; None where a policy can't tell and has to be asked for every user."""
    if isinstance(policy, SamplingPolicy | AllocatingPolicy):
        return policy.shares(model, belief, memory, context, clock)

    def act(noise: Noise, belief: Any, context: Context, t: Any) -> Any:
        return policy.act(model, belief, memory, context, Clock(t, clock.horizon), noise)

    traced = jax.make_jaxpr(act)(noise, belief, context, clock.t).jaxpr
    _, used = dce_jaxpr(traced, [True] * len(traced.outvars))
    if any(used[: len(jax.tree.leaves(noise))]):
        return None
    # Whatever the noise, the same arm.
    return jnp.asarray(act(noise, belief, context, clock.t) == jnp.arange(model.arms), jnp.result_type(float))


def _decide(
    policy: Policy,
    model: Any,
    belief: Any,
    memory: Any,
    context: Context,
    clock: Clock,
    conditions: Conditions,
    noise: PolicyNoise,
) -> tuple[Any, Any]:
    """(pseudo-action, arm): what `policy.act` plays, with the draw behind it where there is one."""
    if isinstance(policy, SamplingPolicy):
        draw = policy.law(model, belief, memory, context, clock).sample(noise.draw)
        pseudo_action = computed_once(draw, clock)
        arm = policy.choose(model, pseudo_action, context)
    else:
        pseudo_action, arm = None, policy.act(model, belief, memory, context, clock, noise.draw)
    if conditions.floor is None:
        return pseudo_action, arm
    there = jnp.sum(available_arms(context, model.arms))
    by_chance = noise.floor.uniform(0) < there * conditions.floor
    any_arm = Uniform().act(model, belief, None, context, clock, noise.floor.at(1))
    return Floored(pseudo_action, arm, by_chance), jnp.where(by_chance, any_arm, arm)


def _with_delay(instance: Any, user: Integer[Array, ""], reward: Float[Array, ""]) -> Any:
    """The reward of a user, with the delay that is drawn for it where delays are random."""
    if isinstance(instance.conditions.delay, int):
        return reward
    ends = jnp.cumsum(jnp.asarray(instance.conditions.delay, reward.dtype))
    return Late(reward, jnp.sum(instance.delay_noise.step(user).uniform(0) > ends))


def _value(paid: Any) -> Any:
    return paid.value if isinstance(paid, Late) else paid


def _chosen(which: Any, first: Any, second: Any) -> Any:
    return jax.tree.map(lambda one, other: jnp.where(which, one, other), first, second)
