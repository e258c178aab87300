"""One run of one policy through one instance."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.policies import Clock, Policy, SamplingPolicy, computed_once
from tsgrad.problems import Problem
from tsgrad.simulation.instance import Instance
from tsgrad.streams import Address, Noise, Stream


class Trajectory(NamedTuple):
    """What happened in one run. Axes: [T] first, but for `final_belief` and `rollout`.

    `belief` and `memory` are those before the step: what the choice was made from. `rollout` says which of the
    episode's runs this is.
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


def decide(
    policy: Policy, model: Problem, belief: Any, memory: Any, context: Any, clock: Clock, noise: Noise
) -> tuple[Any, Any]:
    """(pseudo-action, arm): what `policy.act` plays, with the draw behind it where there is one."""
    if isinstance(policy, SamplingPolicy):
        draw = policy.law(model, belief, memory, context, clock).sample(noise)
        pseudo_action = computed_once(draw, clock)
        return pseudo_action, model.best_arm(pseudo_action, context)
    return None, policy.act(model, belief, memory, context, clock, noise)


def rollout(
    model: Problem, policy: Policy, instance: Instance, address: Address, number: Integer[Array, ""]
) -> Trajectory:
    """Plays an instance from start to end. Runs of different numbers share all but the policy's noise."""
    noise = address.noise(Stream.POLICY, rollout=number)

    def step(state: tuple[Any, Any], inputs: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
        belief, memory = state
        t, context = inputs
        clock = Clock(t, instance.horizon)
        pseudo_action, arm = decide(policy, model, belief, memory, context, clock, noise.step(t))
        reward = instance.reward(t, context, arm)
        later = (
            model.update(belief, context, arm, reward),
            policy.remember(memory, context, arm, reward),
        )
        return later, (belief, memory, pseudo_action, arm, reward)

    start = (model.prior(instance.horizon), policy.init(model))
    (final_belief, _), steps = jax.lax.scan(step, start, (instance.times, instance.contexts))
    belief, memory, pseudo_action, arm, reward = steps
    return Trajectory(
        t=instance.times,
        context=instance.contexts,
        belief=belief,
        memory=memory,
        pseudo_action=pseudo_action,
        arm=arm,
        reward=reward,
        final_belief=final_belief,
        rollout=jnp.asarray(number),
    )


def regret(instance: Instance, arms: Any) -> Float[Array, "T"]:
    """What playing these arms [T] costs at each step against playing the best ones."""
    return instance.means(instance.best_arms()) - instance.means(arms)
