"""Users of a step one by one, each with a context or a memory of their own."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Integer

from tsgrad.policies import Policy
from tsgrad.problems import Context, Problem
from tsgrad.simulation.conditions import Conditions, PolicyNoise
from tsgrad.simulation.crowds.base import Crowd
from tsgrad.simulation.crowds.one_user import ONE_USER, decided, value_of_paid, with_delay


class Users(NamedTuple):
    """Arms of the users of a step, and which of them there are: steps may have fewer than the most. Axes: [n]."""

    arm: Any
    there: Bool[Array, "n"]


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
            return decided(policy, model, belief, memory, context, clock, conditions, noise.step(clock.t + number))

        numbers = jnp.arange(self.most)
        draw, arm = jax.vmap(one)(numbers, context)
        return draw, Users(arm, numbers < conditions.size(t))

    def pay(self, instance: Any, t: Integer[Array, ""], context: Context, played: Users, plays: Any) -> Any:
        first = instance.clock(t).t

        def one(number: Any, context: Context, arm: Any) -> Any:
            return with_delay(instance, first + number, instance.reward(first + number, context, arm))

        return jax.vmap(one)(jnp.arange(self.most), context, played.arm)

    def recorded(self, paid: Any) -> Any:
        return paid

    def total(self, recorded: Any) -> Float[Array, ""]:
        return jnp.sum(value_of_paid(recorded))

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
