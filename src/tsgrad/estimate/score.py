"""The score, and what it is multiplied with: from a record of an episode to the gradient of every estimator."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from tsgrad.estimate.baselines import Baseline
from tsgrad.estimate.estimator import Estimator
from tsgrad.estimate.metrics import Metric
from tsgrad.policies import Clock, SamplingPolicy, split
from tsgrad.problems import Problem
from tsgrad.simulation import Episode, Trajectory
from tsgrad.streams import Stream


def log_likelihood(
    model: Problem, policy: SamplingPolicy, rollout: Trajectory, weights: Float[Array, "T"]
) -> Float[Array, ""]:
    """sum_t weights_t log p(pseudo-action_t; past), with pseudo-actions, arms and rewards held fixed.

    The memory of the policy is computed anew, so that derivatives go through it where it depends on the
    meta-parameters.
    """
    horizon = rollout.reward.shape[0]

    # Recomputed on the way back instead of stored: a step is cheaper to redo than to remember.
    @jax.checkpoint
    def step(memory: Any, inputs: Any) -> tuple[Any, Float[Array, ""]]:
        t, context, belief, pseudo_action, arm, reward, weight = inputs
        law = policy.law(model, belief, memory, context, Clock(t, horizon))
        return policy.remember(memory, context, arm, reward), weight * law.log_prob(pseudo_action)

    steps = (
        rollout.t,
        rollout.context,
        rollout.belief,
        rollout.pseudo_action,
        rollout.arm,
        rollout.reward,
        weights,
    )
    _, terms = jax.lax.scan(step, policy.init(model), steps)
    return jnp.sum(terms)


def weighted_score(
    model: Problem, policy: SamplingPolicy, rollout: Trajectory, weights: Float[Array, "T"]
) -> Float[Array, "P"]:
    """sum_t weights_t S_t, with S_t the gradient of log p(pseudo-action_t; past) in the meta-parameters.

    Every estimator's gradient comes from here.
    """
    moving, fixed = split(policy)

    def surrogate(moving: Any) -> Float[Array, ""]:
        return log_likelihood(model, eqx.combine(moving, fixed), rollout, weights)

    return ravel_pytree(jax.grad(surrogate)(moving))[0]


def gradients_of(episode: Episode, estimators: tuple[Estimator, ...]) -> Float[Array, "E P"]:
    """Every estimator's gradient from one record of an episode."""
    rollouts = most_rollouts(estimators)
    advantages = _Advantages(episode)
    weights = [
        jnp.pad(advantages.of(estimator) / estimator.rollouts, ((0, rollouts - estimator.rollouts), (0, 0)))
        for estimator in estimators
    ]

    def of_rollout(rollout: Any, weights: Float[Array, "E T"]) -> Float[Array, "E P"]:
        return jax.vmap(lambda weights: weighted_score(episode.model, episode.policy, rollout, weights))(weights)

    return jnp.sum(jax.vmap(of_rollout, in_axes=(0, 1))(episode.rollouts, jnp.stack(weights)), axis=0)


def most_rollouts(estimators: tuple[Estimator, ...]) -> int:
    """How many rollouts an episode must have to serve all estimators."""
    return max(estimator.rollouts for estimator in estimators)


class _Advantages:
    """M_t - B_t of several estimators on one episode; what estimators share is computed once."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.computed: dict[Any, Float[Array, "R T"]] = {}

    def of(self, estimator: Estimator) -> Float[Array, "R T"]:
        metric, baseline, used = estimator.metric, estimator.baseline, estimator.rollouts
        episode = self.episode.first(used)
        metrics = self._once(
            _identity(metric), lambda: jax.vmap(partial(metric.values, self.episode))(self.episode.rollouts)
        )[:used]
        shared = (used, _identity(baseline), _identity(metric) if baseline.coupled else None)
        advantages = metrics - self._once(shared, lambda: baseline.values(metric, episode, metrics))
        return _one_step_only(episode, advantages) if estimator.single_time else advantages

    def _once(self, key: Any, compute: Callable[[], Float[Array, "R T"]]) -> Float[Array, "R T"]:
        if key not in self.computed:
            self.computed[key] = compute()
        return self.computed[key]


def _identity(part: Metric | Baseline) -> Any:
    """What tells a metric or baseline from another: its structure, or itself where it holds numbers of its own."""
    leaves, structure = jax.tree.flatten(part)
    return id(part) if leaves else structure


def _one_step_only(episode: Episode, advantages: Float[Array, "R T"]) -> Float[Array, "R T"]:
    """The advantages at one step an episode, drawn at its own address, times T; zero at all others."""
    horizon = episode.instance.horizon
    uniform = episode.address.noise(Stream.TIME).uniform(0)
    chosen = jnp.minimum(jnp.ceil(uniform * horizon), horizon)
    return jnp.where(episode.instance.times == chosen, horizon * advantages, 0)
