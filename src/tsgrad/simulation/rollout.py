"""One rollout: one pass of one policy through one instance."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.policies import Clock, Policy
from tsgrad.problems import Context, Problem
from tsgrad.simulation.instance import Instance
from tsgrad.simulation.step import State, Taken, decide, start, take_step
from tsgrad.streams import Address, Stream


class Trajectory(NamedTuple):
    """What happened in one rollout. Axes: [T] first, but for `final_belief` and `rollout`.

    `belief` and `memory` are those before the step: what the choice was made from. `rollout` says which of the
    episode's rollouts this is.
    """

    t: Integer[Array, "T"]
    context: Any
    belief: Any
    memory: Any
    pseudo_action: Any  # None where the policy doesn't sample
    arm: Any
    reward: Float[Array, "T"]
    final_belief: Any
    rollout: Integer[Array, ""]

    @classmethod
    def of(cls, times: Any, contexts: Context, steps: Taken, last: State, number: Integer[Array, ""]) -> "Trajectory":
        """From the steps of an episode and the state after the last of them."""
        return cls(times, contexts, *steps, final_belief=last.belief, rollout=jnp.asarray(number))


def roll_out(
    model: Problem, policy: Policy, instance: Instance, address: Address, number: Integer[Array, ""]
) -> Trajectory:
    """Plays an instance from start to end. Rollouts of different numbers share all but the policy's noise."""
    noise = address.noise(Stream.POLICY, rollout=number)

    def step(state: State, inputs: tuple[Any, Any]) -> tuple[State, Taken]:
        t, context = inputs
        clock = Clock(t, instance.horizon)
        return take_step(
            model,
            policy,
            state,
            context,
            choose=lambda: decide(policy, model, state, context, clock, noise.step(t)),
            pay=lambda arm: instance.reward(t, context, arm),
        )

    first = start(model, policy, instance.horizon)
    last, steps = jax.lax.scan(step, first, (instance.times, instance.contexts))
    return Trajectory.of(instance.times, instance.contexts, steps, last, number)


def regret(instance: Instance, arms: Any) -> Float[Array, "T"]:
    """What playing these arms [T] costs at each step against playing the best ones."""
    return instance.means(instance.best_arms()) - instance.means(arms)
