"""One block of episodes on JAX: every estimator's gradient from one record of each episode."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt32

from tsgrad.estimate.baselines import Baseline
from tsgrad.estimate.episode import Episode, play
from tsgrad.estimate.estimator import Estimator
from tsgrad.estimate.metrics import Metric
from tsgrad.estimate.moments import Moments
from tsgrad.estimate.score import weighted_score
from tsgrad.policies import SamplingPolicy
from tsgrad.problems import AnyProblem
from tsgrad.simulation import block_episodes, is_real
from tsgrad.streams import Address, Stream


def _one_step_only(episode: Episode, advantages: Float[Array, "R T"]) -> Float[Array, "R T"]:
    """The advantages at one step an episode, drawn at its own address, times T; zero at all others."""
    horizon = episode.instance.horizon
    uniform = episode.address.noise(Stream.TIME).uniform(0)
    chosen = jnp.minimum(jnp.ceil(uniform * horizon), horizon)
    return jnp.where(episode.instance.times == chosen, horizon * advantages, 0)


def _identity(part: Metric | Baseline) -> Any:
    """What tells a metric or baseline from another: its structure, or itself where it holds numbers of its own."""
    leaves, structure = jax.tree.flatten(part)
    return id(part) if leaves else structure


class _Advantages:
    """M_t - B_t of several estimators on one episode; what estimators share is computed once."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.computed: dict[Any, Float[Array, "R T"]] = {}

    def of(self, estimator: Estimator) -> Float[Array, "R T"]:
        metric, baseline, used = estimator.metric, estimator.baseline, estimator.rollouts
        episode = self.episode.first(used)
        metrics = self._once(
            _identity(metric), lambda: jax.vmap(partial(metric.values, self.episode))(self.episode.runs)
        )[:used]
        shared = (used, _identity(baseline), _identity(metric) if baseline.coupled else None)
        advantages = metrics - self._once(shared, lambda: baseline.values(metric, episode, metrics))
        return _one_step_only(episode, advantages) if estimator.single_time else advantages

    def _once(self, key: Any, compute: Callable[[], Float[Array, "R T"]]) -> Float[Array, "R T"]:
        if key not in self.computed:
            self.computed[key] = compute()
        return self.computed[key]


def _episode_gradients(
    problem: AnyProblem, policy: SamplingPolicy, estimators: tuple[Estimator, ...], horizon: int, address: Address
) -> tuple[Float[Array, "E P"], Float[Array, ""]]:
    """Every estimator's gradient from one episode, all from one record of it, and its regret."""
    rollouts, world = most_rollouts(estimators), estimators[0].world
    episode, lost = play(problem, policy, address, horizon=horizon, rollouts=rollouts, world=world)
    return gradients_of(episode, estimators), lost


def most_rollouts(estimators: tuple[Estimator, ...]) -> int:
    """How many runs an episode must have to serve all estimators."""
    return max(estimator.rollouts for estimator in estimators)


def gradients_of(episode: Episode, estimators: tuple[Estimator, ...]) -> Float[Array, "E P"]:
    """Every estimator's gradient from one record of an episode."""
    rollouts = most_rollouts(estimators)
    advantages = _Advantages(episode)
    weights = [
        jnp.pad(advantages.of(estimator) / estimator.rollouts, ((0, rollouts - estimator.rollouts), (0, 0)))
        for estimator in estimators
    ]

    def of_run(run: Any, weights: Float[Array, "E T"]) -> Float[Array, "E P"]:
        return jax.vmap(lambda weights: weighted_score(episode.model, episode.policy, run, weights))(weights)

    return jnp.sum(jax.vmap(of_run, in_axes=(0, 1))(episode.runs, jnp.stack(weights)), axis=0)


@eqx.filter_jit
def gradient_block(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimators: tuple[Estimator, ...],
    address: Address,
    total: UInt32[Array, ""] | np.uint32,
    block: UInt32[Array, ""],
    horizon: int,
    every_episode: bool,
) -> Any:
    """Moments of gradients [E, P] and regret over a block; with `every_episode` all of its gradients [B, E, P]."""
    episodes = block_episodes(block)
    gradients, lost = jax.vmap(
        lambda number: _episode_gradients(problem, policy, estimators, horizon, address.with_episode(number))
    )(episodes)
    if every_episode:
        return gradients
    real = is_real(episodes, total)
    return Moments.of(gradients, real), Moments.of(lost, real)
