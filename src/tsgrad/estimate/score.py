"""The score: how the log-likelihood of a run's pseudo-actions moves with the meta-parameters."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from tsgrad.policies import Clock, SamplingPolicy, split
from tsgrad.problems import Problem
from tsgrad.simulation import Trajectory


def log_likelihood(
    model: Problem, policy: SamplingPolicy, run: Trajectory, weights: Float[Array, "T"]
) -> Float[Array, ""]:
    """sum_t weights_t log p(pseudo-action_t; past), with pseudo-actions, arms and rewards held fixed.

    The memory of the policy is computed anew, so that derivatives go through it where it depends on the
    meta-parameters.
    """
    horizon = run.reward.shape[0]

    # Recomputed on the way back instead of stored: a step is cheaper to redo than to remember.
    @jax.checkpoint
    def step(memory: Any, inputs: Any) -> tuple[Any, Float[Array, ""]]:
        t, context, belief, pseudo_action, arm, reward, weight = inputs
        law = policy.law(model, belief, memory, context, Clock(t, horizon))
        return policy.remember(memory, context, arm, reward), weight * law.log_prob(pseudo_action)

    steps = (run.t, run.context, run.belief, run.pseudo_action, run.arm, run.reward, weights)
    _, terms = jax.lax.scan(step, policy.init(model), steps)
    return jnp.sum(terms)


def weighted_score(
    model: Problem, policy: SamplingPolicy, run: Trajectory, weights: Float[Array, "T"]
) -> Float[Array, "P"]:
    """sum_t weights_t S_t, with S_t the gradient of log p(pseudo-action_t; past) in the meta-parameters.

    Every estimator's gradient comes from here.
    """
    moving, fixed = split(policy)

    def surrogate(moving: Any) -> Float[Array, ""]:
        return log_likelihood(model, eqx.combine(moving, fixed), run, weights)

    return ravel_pytree(jax.grad(surrogate)(moving))[0]
