"""Users of a step who are only counted: shares of arms, counts, and sums of rewards."""

from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters.partial_eval import dce_jaxpr
from jaxtyping import Array, Float, Integer

from tsgrad.laws.counts import binomial, multinomial, rounded
from tsgrad.policies import AllocatingPolicy, Clock, SamplingPolicy
from tsgrad.problems import Context, Sums
from tsgrad.simulation.conditions import Conditions, Moment, PolicyNoise
from tsgrad.simulation.crowds.base import Crowd, Item, Known, Player
from tsgrad.streams import Noise


class Counted(Crowd):
    """Users who are only counted: what is played is how many get each arm, what is paid are sums of rewards.

    A step costs the same, however many they are.
    """

    counted: ClassVar[bool] = True

    def contexts(self, of_users: Context, t: Integer[Array, "T"], conditions: Conditions, horizon: int) -> Context:
        return jax.vmap(lambda t: conditions.applied(Context(), t))(t)

    def decide(
        self, player: Player, known: Known, context: Context, moment: Moment, noise: PolicyNoise
    ) -> tuple[Any, Any]:
        (model, policy), clock, conditions = player, moment.clock, moment.conditions
        users = jnp.asarray(conditions.size(moment.t), jnp.result_type(float))
        shares = self.shares(player, known, context, moment, noise)
        if shares is not None:
            return None, self.allocated(shares, moment, noise)
        by_chance = jnp.zeros(model.arms)
        if conditions.floor is not None:
            there = context.there(model.arms).astype(users.dtype)
            assert noise.floor is not None
            floor = noise.floor.step(clock.t)
            number = binomial(users, jnp.sum(there) * conditions.floor, floor.at(0))
            by_chance = multinomial(number, there / jnp.sum(there), floor.at(1))

        def one_more(number: Any, counts: Any) -> Any:
            arm = policy.act(model, *known, context, clock, noise.draw.step(clock.t + number))
            return counts + (arm == jnp.arange(model.arms))

        decided = (users - jnp.sum(by_chance)).astype(int)
        return None, jax.lax.fori_loop(0, decided, one_more, by_chance)

    def shares(
        self, player: Player, known: Known, context: Context, moment: Moment, noise: PolicyNoise
    ) -> Float[Array, "K"] | None:
        """Returns the probability of each arm for a user, with the least one mixed in; None where a policy can't tell
        and has to be asked for every user.
        """
        shares = _shares_of(player, known, context, moment.clock, noise.draw)
        return None if shares is None else moment.conditions.floored(shares, context)

    def allocated(self, shares: Float[Array, "K"], moment: Moment, noise: PolicyNoise) -> Float[Array, "K"]:
        """Returns how many users of a step get each arm."""
        allocate = multinomial if moment.conditions.allocation == "independent" else rounded
        users = jnp.asarray(moment.conditions.size(moment.t), shares.dtype)
        return allocate(users, shares, noise.draw.step(moment.clock.t))

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

    def whenever_seen(self, paid: Sums) -> Sums:
        if paid.users.ndim == 1:
            return paid
        # Sums of several delays are added up.
        count, total = jnp.sum(paid.users, axis=0), jnp.sum(paid.total, axis=0)
        if paid.scatter is None:
            return Sums(count, total, None)
        shift = paid.total / jnp.maximum(paid.users, 1) - total / jnp.maximum(count, 1)
        return Sums(count, total, jnp.sum(paid.scatter + paid.users * shift**2, axis=0))

    def log_prob(
        self,
        of_user: Callable[[Context, Any, Any], Any],
        shares: Callable[[], Float[Array, "K"]],
        context: Context,
        drawn: Any,
        played: Float[Array, "K"],
    ) -> Float[Array, ""]:
        chances = shares()
        tiny = np.finfo(chances.dtype).tiny
        return jnp.sum(jnp.where(played > 0, played * jnp.log(jnp.maximum(chances, tiny)), 0))

    def renew(self, player: Player, known: Known, item: Item, seen: Any) -> Known:
        return known._replace(belief=jax.tree.map(jnp.add, known.belief, self.evidence(player.model, item.paid)))

    def evidence(self, model: Any, paid: Sums) -> Any:
        return model.evidence_of_sums(paid)

    def all_play(self, arm_of: Callable[[Context], Any], context: Context, size: Any, arms: int) -> Any:
        return jnp.asarray(size * (arm_of(context) == jnp.arange(arms)), jnp.result_type(float))

    def summed(self, value_of: Callable[[Context, Any], Any], context: Context, played: Any) -> Float[Array, ""]:
        values = jax.vmap(lambda arm: value_of(context, arm))(jnp.arange(played.shape[0]))
        return jnp.sum(played * values)

    def counts(self, played: Float[Array, "K"], arms: int) -> Float[Array, "K"]:
        return played


def _shares_of(player: Player, known: Known, context: Context, clock: Clock, noise: Noise) -> Float[Array, "K"] | None:
    """The chance of each arm at a decision; None where a policy can't tell and has to be asked for every user."""
    model, policy = player
    if isinstance(policy, SamplingPolicy | AllocatingPolicy):
        return policy.shares(model, *known, context, clock)

    def act(noise: Noise, belief: Any, context: Context, t: Any) -> Any:
        return policy.act(model, belief, known.memory, context, clock._replace(t=t), noise)

    traced = jax.make_jaxpr(act)(noise, known.belief, context, clock.t).jaxpr
    _, used = dce_jaxpr(traced, [True] * len(traced.outvars))
    if any(used[: len(jax.tree.leaves(noise))]):
        return None
    # Whatever the noise, the same arm.
    return jnp.asarray(act(noise, known.belief, context, clock.t) == jnp.arange(model.arms), jnp.result_type(float))
