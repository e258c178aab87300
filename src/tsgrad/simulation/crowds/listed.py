"""Users of a step one by one, each with a context or a memory of their own."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Integer

from tsgrad.problems import Context
from tsgrad.simulation.conditions import Conditions, Moment, PolicyNoise
from tsgrad.simulation.crowds.base import Crowd, Item, Known, Player
from tsgrad.simulation.crowds.one_user import ONE_USER, decided, log_prob_of_decision, value_of_paid, with_delay


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
        self, player: Player, known: Known, context: Context, moment: Moment, noise: PolicyNoise
    ) -> tuple[Any, Any]:
        first = moment.clock.t

        def one(number: Any, context: Context) -> tuple[Any, Any]:
            return decided(player, known, context, moment, noise.step(first + number))

        numbers = jnp.arange(self.most)
        draw, arm = jax.vmap(one)(numbers, context)
        return draw, Users(arm, numbers < moment.conditions.size(moment.t))

    def pay(self, instance: Any, t: Integer[Array, ""], context: Context, played: Users, plays: Any) -> Any:
        first = instance.clock(t).t

        def one(number: Any, context: Context, arm: Any) -> Any:
            return with_delay(instance, first + number, instance.reward(first + number, context, arm))

        return jax.vmap(one)(jnp.arange(self.most), context, played.arm)

    def recorded(self, paid: Any) -> Any:
        return paid

    def total(self, recorded: Any) -> Float[Array, ""]:
        return jnp.sum(value_of_paid(recorded))

    def whenever_seen(self, paid: Any) -> Any:
        return paid

    def log_prob(
        self,
        of_user: Callable[[Context, Any, Any], Any],
        shares: Callable[[], Float[Array, "K"]],
        context: Context,
        drawn: Any,
        played: Users,
    ) -> Float[Array, ""]:
        def of_one(context: Context, decided: tuple[Any, Any]) -> Float[Array, ""]:
            return log_prob_of_decision(of_user, context, *decided)

        return self.summed(of_one, context, Users((drawn, played.arm), played.there))

    def renew(self, player: Player, known: Known, item: Item, seen: Any) -> Known:
        there = item.played.there if seen is None else item.played.there & seen

        def one(known: Known, user: tuple[Item, Any]) -> tuple[Known, None]:
            return ONE_USER.renew(player, known, *user), None

        later: Known = jax.lax.scan(one, known, (item._replace(played=item.played.arm), there))[0]
        return later

    def all_play(self, arm_of: Callable[[Context], Any], context: Context, size: Any, arms: int) -> Users:
        numbers = jnp.arange(self.most)
        return Users(jax.vmap(lambda context, _: arm_of(context))(context, numbers), numbers < size)

    def summed(self, value_of: Callable[[Context, Any], Any], context: Context, played: Users) -> Float[Array, ""]:
        return jnp.sum(jnp.where(played.there, jax.vmap(value_of)(context, played.arm), 0))

    def counts(self, played: Users, arms: int) -> Float[Array, "K"]:
        return jnp.sum((played.arm[:, None] == jnp.arange(arms)) & played.there[:, None], axis=0).astype(float)


def each_user(played: Any, recorded: Any) -> tuple[Any, Float[Array, "*batch"], Bool[Array, "*batch"]]:
    """Arm and reward of every user of a record in which they are not only counted, and whether they were there.

    Args:
        played: what was played, of one user a step [T] or of several [T, n].
        recorded: what was paid for it, likewise.

    """
    reward = value_of_paid(recorded)
    arm, there = played if isinstance(played, Users) else (played, jnp.ones(reward.shape, bool))
    return arm, reward, there
