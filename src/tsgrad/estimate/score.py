"""The score: how the log-likelihood of a run's pseudo-actions moves with the meta-parameters."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from tsgrad.policies import Clock, SamplingPolicy, split
from tsgrad.problems import Problem
from tsgrad.simulate import Trajectory


def weighted_score(
    model: Problem, policy: SamplingPolicy, run: Trajectory, weights: Float[Array, "T"]
) -> Float[Array, "P"]:
    """sum_t weights_t S_t, with S_t the gradient of log p(pseudo-action_t; past) in the meta-parameters.

    Pseudo-actions, arms and rewards are held fixed; the memory of the policy is not, so that the gradient goes
    through it where it depends on the meta-parameters. Every estimator's gradient comes from here.
    """
    moving, fixed = split(policy)
    horizon = run.reward.shape[0]

    def surrogate(moving: Any) -> Float[Array, ""]:
        moved: SamplingPolicy = eqx.combine(moving, fixed)

        # Recomputed on the way back instead of stored: a step is cheaper to redo than to remember.
        @jax.checkpoint
        def step(memory: Any, inputs: Any) -> tuple[Any, Float[Array, ""]]:
            t, context, belief, pseudo_action, arm, reward, weight = inputs
            law = moved.law(model, belief, memory, context, Clock(t, horizon))
            return moved.remember(memory, context, arm, reward), weight * law.log_prob(pseudo_action)

        steps = (run.t, run.context, run.belief, run.pseudo_action, run.arm, run.reward, weights)
        _, terms = jax.lax.scan(step, moved.init(model), steps)
        return jnp.sum(terms)

    return ravel_pytree(jax.grad(surrogate)(moving))[0]
