"""Look-aheads: what a policy would earn from here on, by playing on in worlds that fit what is known; and the metric
`q` and the baseline `value`, which are made of them.
"""

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.estimate.metrics_and_baselines import Baseline, Metric
from tsgrad.registry import register
from tsgrad.simulation import Episode, Player, PolicyNoise, State, Trajectory, take_step
from tsgrad.streams import Stream


class Outlook(NamedTuple):
    """Expected reward from each step to the end, averaged over look-aheads. Axes: [T] each."""

    played: Float[Array, "T"]
    best: Float[Array, "T"]  # by the best arm of each look-ahead world


def look_ahead(episode: Episode, rollout: Trajectory, number: int, *, first_arm_played: bool) -> Outlook:
    """Plays on from each step of a rollout, `number` times, in worlds drawn from the belief at that step.

    With `first_arm_played` the first arm is the rollout's own (a state-action value), else the policy draws it too
    (a state value). Both use the same worlds and noise, so that in their difference most of it cancels.
    """
    model, policy, instance = episode.model, episode.policy, episode.instance

    def one(
        t: Integer[Array, ""], belief: Any, memory: Any, arm: Any, index: Integer[Array, ""]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        where = {"rollout": rollout.rollout, "look_ahead": index}
        world = model.posterior(belief).sample(episode.address.noise(Stream.POSTERIOR, **where).at(t))
        policy_noise = PolicyNoise.of(lambda stream: episode.address.noise(stream, **where).at(t), instance.conditions)
        reward_noise = episode.address.noise(Stream.REWARD, **where).at(t)

        def step(s: Integer[Array, ""], carried: Any) -> Any:
            state, played, best = carried
            context = jax.tree.map(lambda leaf: leaf[s - 1], instance.contexts)

            def choose() -> tuple[Any, Any]:
                draw, chosen = instance.crowd.decide(
                    Player(model, policy), state.known, context, instance.moment(s), policy_noise
                )
                return draw, jnp.where(s == t, arm, chosen) if first_arm_played else chosen

            later, taken = take_step(
                model,
                policy,
                state,
                context,
                choose=choose,
                pay=lambda arm: model.reward(world, context, arm, reward_noise.step(s)),
            )
            return (
                later,
                played + model.mean(world, context, taken.arm),
                best + model.mean(world, context, model.best_arm(world, context)),
            )

        nothing = jnp.zeros_like(rollout.reward[0])
        start = (State(belief, memory), nothing, nothing)
        _, played, best = jax.lax.fori_loop(t, instance.horizon + 1, step, start)
        return played, best

    def from_step(inputs: tuple[Any, Any, Any, Any]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        indices = jnp.arange(1, number + 1, dtype=jnp.uint32)
        played, best = jax.vmap(lambda index: one(*inputs, index))(indices)
        return jnp.mean(played), jnp.mean(best)

    # One step after the other: a look-ahead then takes as long as what is left, and nothing of it is kept.
    played, best = jax.lax.map(from_step, (instance.times, rollout.belief, rollout.memory, rollout.arm))
    return Outlook(played, best)


@register("q")
class StateActionValue(Metric):
    """`q`: the expected reward from here on given the past and the arm, by look-aheads under the model.

    Admissible where the model is right, for any number of look-aheads: each starts from a world drawn from the
    posterior and plays on with the policy, so that its expectation is the state-action value.
    """

    trusts_model: ClassVar[bool] = True
    single_users: ClassVar[bool] = True
    looks_ahead: ClassVar[bool] = True
    lookaheads: int = eqx.field(static=True, default=8)

    def values(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T"]:
        return look_ahead(episode, rollout, self.lookaheads, first_arm_played=True).played

    def oracle(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T"]:
        return look_ahead(episode, rollout, self.lookaheads, first_arm_played=True).best


@register("value")
class ValueFunction(Baseline):
    """`value`: the expected reward from here on given the past, by look-aheads under the model.

    Admissible: look-aheads start from the past before t and draw their own pseudo-actions.
    """

    looks_ahead: ClassVar[bool] = True
    single_users: ClassVar[bool] = True
    coupled: ClassVar[bool] = False
    lookaheads: int = eqx.field(static=True, default=8)

    def values(self, metric: Metric, episode: Episode, metrics: Float[Array, "R T"]) -> Float[Array, "R T"]:
        return jax.vmap(lambda rollout: look_ahead(episode, rollout, self.lookaheads, first_arm_played=False).played)(
            episode.rollouts
        )
