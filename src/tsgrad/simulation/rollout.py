"""Rollouts: passes of a policy through an instance, one of them or several of the same episode."""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.policies import Policy, SamplingPolicy
from tsgrad.problems import AnyProblem, Context, Problem
from tsgrad.simulation.conditions import PolicyNoise
from tsgrad.simulation.crowds import Item, Player
from tsgrad.simulation.instance import Instance, Observed, draw_instance, redraw_instance
from tsgrad.simulation.step import State, Taken, crowd_of, start, take_step
from tsgrad.simulation.workload import Traced
from tsgrad.streams import Address


class Trajectory(NamedTuple):
    """What happened in one rollout. Axes: [T] first, but for `final_belief` and `rollout`.

    Attributes:
        t: the steps, from 1.
        context: what was seen before each choice.
        belief: before each step: what the choice was made from.
        memory: of the policy, before each step.
        pseudo_action: the draw of the policy; None where it doesn't sample.
        arm: what was played: an arm, or in batches how many users got each arm [T, K].
        reward: of each step; in batches the sums of the rewards of each arm.
        final_belief: the belief once all that will ever be seen has been seen.
        rollout: which of the episode's rollouts this is.

    """

    t: Integer[Array, "T"]
    context: Any
    belief: Any
    memory: Any
    pseudo_action: Any  # None where the policy doesn't sample
    arm: Any
    reward: Any
    final_belief: Any
    rollout: Integer[Array, ""]

    @classmethod
    def of(
        cls, times: Any, contexts: Context, steps: Taken, final_belief: Any, number: Integer[Array, ""]
    ) -> "Trajectory":
        """From the steps of an episode and the belief after the last of them."""
        return cls(times, contexts, *steps, final_belief=final_belief, rollout=jnp.asarray(number))


def roll_out(
    model: Problem, policy: Policy, instance: Instance, address: Address, number: Integer[Array, ""]
) -> Trajectory:
    """Plays an instance from start to end. Rollouts of different numbers share all but the policy's noise."""
    crowd, feedback, player = instance.crowd, instance.feedback, Player(model, policy)
    noise = PolicyNoise.of(partial(address.noise, rollout=number), instance.conditions)

    def choose(state: State, t: Any, context: Context) -> tuple[Any, Any]:
        return crowd.decide(player, state.known, context, instance.moment(t), noise)

    def step(state: State, inputs: tuple[Any, Any]) -> tuple[State, Taken]:
        t, context = inputs
        return take_step(
            model,
            policy,
            state,
            context,
            choose=lambda: choose(state, t, context),
            pay=lambda played: instance.pay(t, context, played, state.plays),
            crowd=crowd,
            feedback=feedback,
        )

    first = start(model, policy, instance.users)._replace(plays=instance.no_plays())

    def item(t: Any, context: Context) -> Item:
        played = choose(first, t, context)[1]
        return Item(context, played, instance.pay(t, context, played, first.plays))

    def shapes() -> Item:
        at_first = jax.tree.map(lambda leaf: leaf[0], (instance.times, instance.contexts))
        found: Item = eqx.filter_eval_shape(item, *at_first)
        return found

    first = first._replace(pending=feedback.nothing(model, shapes))
    last, steps = jax.lax.scan(step, first, (instance.times, instance.contexts))
    final_belief = feedback.at_the_end(crowd, player, last)
    return Trajectory.of(instance.times, instance.contexts, steps, final_belief, number)


class Regret(NamedTuple):
    """What a rollout costs against playing the best arms: at each step [T], and once the experiment has ended."""

    of_steps: Float[Array, "T"]
    after: Float[Array, ""]

    @property
    def total(self) -> Float[Array, ""]:
        """Both."""
        return jnp.sum(self.of_steps) + self.after


def regret(instance: Instance, model: Problem, rollout: Trajectory) -> Regret:
    """What a rollout costs."""
    worth, _, best = instance.final_choice(model, rollout.final_belief)
    return Regret(instance.means(instance.best_arms()) - instance.means(rollout.arm), best - worth)


class Episode(eqx.Module):
    """One instance, and R rollouts of the policy through it: what a gradient estimator may read.

    All rollouts share the world and the reward noise; each has its own policy noise, so that what another rollout did
    is independent of this one's draws given the instance.

    Attributes:
        model: what the policy believes.
        policy: that was played.
        instance: the world, the contexts and the rewards of every arm.
        rollouts: what happened, [R, T] first.
        address: of the episode's randomness.

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
    model, crowd = problem.model, crowd_of(workload.conditions, problem, policy)
    instance = draw_instance(problem, address, workload.horizon, workload.conditions, crowd)
    if world == "true":
        played = _roll_outs(model, policy, instance, address, jnp.arange(rollouts, dtype=jnp.uint32))
        regrets = jax.vmap(lambda rollout: regret(instance, model, rollout))(played)
        total = jnp.sum(regrets.of_steps) + jnp.sum(regrets.after)
        return Episode(model, policy, instance, played, address), total / rollouts
    live = roll_out(model, policy, instance, address, jnp.uint32(0))
    return from_live_rollout(model, policy, live, address, rollouts, instance), regret(instance, model, live).total


def from_live_rollout(
    model: Problem,
    policy: SamplingPolicy,
    live: Trajectory,
    address: Address,
    rollouts: int,
    instance: Instance | None = None,
) -> Episode:
    """The episode of which one rollout is known, and nothing else: the other rollouts, and every metric and baseline,
    see an instance redrawn from what that rollout saw. Of the instance itself only the conditions are asked for.
    """
    observed = Observed(live.arm, live.reward)
    redrawn = redraw_instance(model, instance, live.context, live.final_belief, observed, address)
    known = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], live)
    if rollouts > 1:
        others = _roll_outs(model, policy, redrawn, address, jnp.arange(1, rollouts, dtype=jnp.uint32))
        known = jax.tree.map(lambda one, more: jnp.concatenate([one, more]), known, others)
    return Episode(model, policy, redrawn, known, address)


def _roll_outs(
    model: Problem, policy: SamplingPolicy, instance: Instance, address: Address, numbers: Integer[Array, "R"]
) -> Trajectory:
    return jax.vmap(lambda number: roll_out(model, policy, instance, address, number))(numbers)
