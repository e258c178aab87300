"""Rollouts: passes of a policy through an instance, one of them or several of the same episode."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.policies import Clock, Policy, SamplingPolicy
from tsgrad.problems import AnyProblem, Context, Problem
from tsgrad.simulation.instance import Instance, Observed, draw_instance, redraw_instance
from tsgrad.simulation.step import State, Taken, decide, start, take_step
from tsgrad.simulation.workload import Traced
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


class Episode(eqx.Module):
    """One instance, and R rollouts of the policy through it: what a gradient estimator may read.

    `rollouts` has [R, T] first. All rollouts share the world and the reward noise; each has its own policy noise, so
    that what another rollout did is independent of this one's draws given the instance.
    """

    model: Problem
    policy: SamplingPolicy
    instance: Instance
    rollouts: Trajectory
    address: Address

    @property
    def left(self) -> Integer[Array, "T"]:
        """How many steps are left at each step, that one included."""
        return self.instance.horizon - self.instance.times + 1

    def first(self, number: int) -> "Episode":
        """The same episode, with its first rollouts only."""
        kept = jax.tree.map(lambda leaf: leaf[:number], self.rollouts)
        return Episode(self.model, self.policy, self.instance, kept, self.address)


def play(
    problem: AnyProblem, policy: SamplingPolicy, workload: Traced, address: Address, *, rollouts: int, world: str
) -> tuple[Episode, Float[Array, ""]]:
    """The episode at an address, and the regret of the rollouts that were played in its true instance.

    With world "posterior" the first rollout is all that touches the true instance.
    """
    instance = draw_instance(problem, address, workload.horizon, workload.conditions)
    if world == "true":
        played = _roll_outs(problem.model, policy, instance, address, jnp.arange(rollouts, dtype=jnp.uint32))
        regrets = jax.vmap(lambda arms: regret(instance, arms))(played.arm)
        return Episode(problem.model, policy, instance, played, address), jnp.sum(regrets) / rollouts
    live = roll_out(problem.model, policy, instance, address, jnp.uint32(0))
    return from_live_rollout(problem.model, policy, live, address, rollouts), jnp.sum(regret(instance, live.arm))


def from_live_rollout(
    model: Problem, policy: SamplingPolicy, live: Trajectory, address: Address, rollouts: int
) -> Episode:
    """The episode of which one rollout is known, and nothing else: the other rollouts, and every metric and baseline,
    see an instance redrawn from what that rollout saw.
    """
    observed = Observed(live.arm, live.reward)
    redrawn = redraw_instance(model, live.context, live.final_belief, observed, address)
    known = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], live)
    if rollouts > 1:
        others = _roll_outs(model, policy, redrawn, address, jnp.arange(1, rollouts, dtype=jnp.uint32))
        known = jax.tree.map(lambda one, more: jnp.concatenate([one, more]), known, others)
    return Episode(model, policy, redrawn, known, address)


def _roll_outs(
    model: Problem, policy: SamplingPolicy, instance: Instance, address: Address, numbers: Integer[Array, "R"]
) -> Trajectory:
    return jax.vmap(lambda number: roll_out(model, policy, instance, address, number))(numbers)
