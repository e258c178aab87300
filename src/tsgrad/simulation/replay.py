"""Recorded episodes: what a live system writes down, and the run that it stands for."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.laws import Law
from tsgrad.policies import Clock, SamplingPolicy
from tsgrad.problems import Problem
from tsgrad.simulation.rollout import Trajectory
from tsgrad.streams import Address, Purpose, Stream


class Recorded(NamedTuple):
    """Episodes as they were played: context, draw, arm and reward of each step. Axes: [N, T] first.

    `context` is None where there are none. `pseudo_action` is what the policy drew: as the simulator keeps it, or its
    plain values ([N, T, K] for independent arms, [N, T, d] for a vector).
    """

    context: Any
    pseudo_action: Any
    arm: Any
    reward: Any

    @classmethod
    def of(cls, runs: Trajectory) -> "Recorded":
        """What a live system would have recorded of simulated runs: no world, no beliefs."""
        return cls(runs.context, runs.pseudo_action, runs.arm, runs.reward)


def replay(model: Problem, policy: SamplingPolicy, episode: Recorded) -> tuple[Trajectory, Float[Array, "T"]]:
    """The run that one recorded episode ([T] first) stands for, and the log-density of each of its draws."""
    horizon = episode.reward.shape[0]
    times = jnp.arange(1, horizon + 1)

    def step(state: tuple[Any, Any], inputs: tuple[Integer[Array, ""], Recorded]) -> tuple[tuple[Any, Any], Any]:
        belief, memory = state
        t, (context, drawn, arm, reward) = inputs
        law = policy.law(model, belief, memory, context, Clock(t, horizon))
        draw = _as_draw(law, drawn)
        later = model.update(belief, context, arm, reward), policy.remember(memory, context, arm, reward)
        return later, (belief, memory, draw, law.log_prob(draw))

    start = (model.prior(horizon), policy.init(model))
    (final_belief, _), (belief, memory, draws, log_prob) = jax.lax.scan(step, start, (times, episode))
    run = Trajectory(
        t=times,
        context=episode.context,
        belief=belief,
        memory=memory,
        pseudo_action=draws,
        arm=episode.arm,
        reward=episode.reward,
        final_belief=final_belief,
        rollout=jnp.uint32(0),
    )
    return run, log_prob


def _as_draw(law: Law, drawn: Any) -> Any:
    """A draw of the law from its plain value, where that is all that was recorded."""
    kind = type(jax.eval_shape(lambda: law.sample(Address.of(seed=0, purpose=Purpose.TRAINING).noise(Stream.POLICY))))
    return kind.at(drawn) if isinstance(drawn, jax.Array) and hasattr(kind, "at") else drawn
