"""Recorded episodes: what a live system writes down, and the rollout that it stands for."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Integer

from tsgrad.laws import Law
from tsgrad.policies import SamplingPolicy
from tsgrad.problems import Context, Problem
from tsgrad.simulation.conditions import EVERY_USER
from tsgrad.simulation.rollout import Trajectory
from tsgrad.simulation.step import State, Taken, start, take_step
from tsgrad.streams import Address, Purpose, Stream


class Recorded(NamedTuple):
    """Episodes as they were played. Axes: [N, T] first.

    Attributes:
        context: of each step: a `Context`, the features alone, or None where there are none.
        pseudo_action: what the policy drew: as the simulator keeps it, or its plain values ([N, T, K] for independent
            arms, [N, T, d] for a vector).
        arm: what was played at each step.
        reward: of each step.

    """

    context: Any
    pseudo_action: Any
    arm: Any
    reward: Any

    @classmethod
    def of(cls, rollouts: Trajectory) -> "Recorded":
        """What a live system would have recorded of simulated rollouts: no world, no beliefs."""
        return cls(rollouts.context, rollouts.pseudo_action, rollouts.arm, rollouts.reward)

    def with_contexts(self) -> "Recorded":
        """The same, with contexts as records."""
        context = self.context if isinstance(self.context, Context) else Context(features=self.context)
        return self._replace(context=context)


class Replayed(NamedTuple):
    """The rollout that a recorded episode stands for, the log-density of each draw, and whether it leads to the arm
    that was played. Axes: [T] each.
    """

    rollout: Trajectory
    log_prob: Float[Array, "T"]
    led_to_arm: Bool[Array, "T"]


def replay(model: Problem, policy: SamplingPolicy, episode: Recorded) -> Replayed:
    """Plays one recorded episode ([T] first) again: beliefs and memory follow from what was seen."""
    horizon = episode.reward.shape[0]
    times = jnp.arange(1, horizon + 1)

    def step(state: State, inputs: tuple[Integer[Array, ""], Recorded]) -> tuple[State, tuple[Taken, Any, Any]]:
        t, (context, drawn, arm, reward) = inputs
        law = policy.law(model, state.belief, state.memory, context, EVERY_USER.clock(t, horizon))
        draw = _as_draw(law, drawn)
        later, taken = take_step(model, policy, state, context, choose=lambda: (draw, arm), pay=lambda _: reward)
        chosen = jnp.asarray(policy.choose(model, draw, context))
        same = jnp.allclose(chosen, arm, rtol=1e-3, atol=1e-3) if chosen.ndim else chosen == arm
        return later, (taken, law.log_prob(draw), same)

    last, (steps, log_prob, same) = jax.lax.scan(step, start(model, policy, horizon), (times, episode))
    return Replayed(Trajectory.of(times, episode.context, steps, last.belief, jnp.uint32(0)), log_prob, same)


def _as_draw(law: Law, drawn: Any) -> Any:
    """A draw of the law from its plain value, where that is all that was recorded."""
    kind = type(jax.eval_shape(lambda: law.sample(Address.of(seed=0, purpose=Purpose.TRAINING).noise(Stream.POLICY))))
    return kind.at(drawn) if isinstance(drawn, jax.Array) and hasattr(kind, "at") else drawn
