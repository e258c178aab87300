"""Look-aheads: what a policy would earn from here on, by playing on in worlds that fit what is known."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

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
