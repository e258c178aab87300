"""Blocks of gradients: what an engine computes of one block of episodes, and what the blocks say together."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, UInt32

from tsgrad import native
from tsgrad.arrays import FloatArray
from tsgrad.estimate.estimator import Estimator
from tsgrad.estimate.pathwise import gradient_used, pathwise_gradient
from tsgrad.estimate.score import Play, gradients_of, most_rollouts, step_products, step_weights
from tsgrad.policies import SamplingPolicy, parameter_names
from tsgrad.problems import AnyProblem
from tsgrad.registry import registered_name
from tsgrad.simulation import (
    EVERY_USER,
    LOCAL,
    Conditions,
    Engine,
    EngineName,
    JaxEngine,
    NativeEngine,
    Traced,
    Workers,
    Workload,
    choose_engine,
    crowd_of,
    play,
    why_not_native,
)
from tsgrad.streams import Address


class Gradient(NamedTuple):
    """An estimate of the gradient of expected total reward, to be ascended.

    Summed over steps, averaged over episodes and their rollouts; standard errors are over episodes.

    Attributes:
        mean: the gradient [P].
        standard_error: of each of its entries [P].
        regret: of the episodes that were played.
        regret_standard_error: of that regret.
        names: of the meta-parameters [P], such as `prior_mean[0]`.
        fisher: the Fisher matrix [P, P] of an episode's decisions, where it was asked for.

    """

    mean: FloatArray  # [P]
    standard_error: FloatArray  # [P]
    regret: float
    regret_standard_error: float
    names: tuple[str, ...]  # [P]
    fisher: FloatArray | None = None  # [P, P], the Fisher matrix of an episode's decisions, where it was asked for


class Moments(NamedTuple):
    """Count, mean, and sum of squared deviations from it. Any axes, the same for `mean` and `spread`."""

    count: Any
    mean: Any
    spread: Any

    @classmethod
    def of(cls, values: Float[Array, "B *rest"], real: Bool[Array, "B"]) -> "Moments":
        """Moments over the first axis of the values that are real."""
        kept = real.reshape(real.shape + (1,) * (values.ndim - 1))
        count = jnp.sum(real)
        mean = jnp.sum(jnp.where(kept, values, 0), axis=0) / jnp.maximum(count, 1)
        return cls(count, mean, jnp.sum(jnp.where(kept, (values - mean) ** 2, 0), axis=0))

    def add(self, other: "Moments") -> "Moments":
        """Moments of both samples together, in float64 (Chan, Golub and LeVeque, 1979)."""
        count = self.count + int(other.count)
        step = np.asarray(other.mean, np.float64) - self.mean
        mean = self.mean + step * (int(other.count) / count)
        spread = self.spread + other.spread + step**2 * (self.count * int(other.count) / count)
        return Moments(count, mean, spread)

    @property
    def standard_error(self) -> Any:
        """Of the mean; infinite for a sample of one."""
        return np.sqrt(self.spread / (self.count - 1) / self.count) if self.count > 1 else self.spread + np.inf


NOTHING = Moments(0, 0.0, 0.0)


@eqx.filter_jit
def _gradient_block(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimators: tuple[Estimator, ...],
    workload: Traced,
    block: UInt32[Array, ""],
    every_episode: bool,
    fisher: bool,
) -> Any:
    """Moments of gradients [E, P] and regret over a block; with `every_episode` all of its gradients [B, E, P].

    With `fisher`, which is for one estimator, also the sum of the outer products of all steps' scores [P, P], of the
    first rollout of each episode.
    """
    rollouts, world = most_rollouts(estimators), estimators[0].world
    conditions = workload.conditions
    ways = (
        []  # of single users there are scores alone
        if conditions.every_user
        else [gradient_used(problem, policy, estimator, conditions) for estimator in estimators]
    )

    def one(number: UInt32[Array, ""]) -> Any:
        home = workload.address.with_episode(number)
        if "pathwise" in ways:
            found = [
                pathwise_gradient(problem, policy, estimator, workload, home, member=fisher)
                if way == "pathwise"
                else _score_gradient(problem, policy, estimator, workload, home)
                for way, estimator in zip(ways, estimators, strict=True)
            ]
            steps = (found[0][2], jnp.ones(workload.horizon)) if fisher else None
            return jnp.stack([gradient for gradient, _, _ in found]), found[0][1], steps
        episode, regret = play(problem, policy, workload, home, rollouts=rollouts, world=world)
        first = jax.tree.map(lambda leaf: leaf[0], episode.rollouts)
        steps = (first, step_weights(episode, estimators[0])) if fisher else None
        return gradients_of(episode, estimators), regret, steps

    episodes = workload.episodes(block)
    gradients, regrets, steps = jax.vmap(one)(episodes)
    if every_episode:
        return gradients
    real = workload.is_real(episodes)
    products = None
    if fisher:
        played, weights = steps
        counted = jnp.where(real[:, None], weights, 0)
        how = Play(crowd_of(conditions, problem, policy), conditions)
        products = step_products(problem.model, policy, played, counted, estimators[0].score, how)
    return Moments.of(gradients, real), Moments.of(regrets, real), products


def _score_gradient(
    problem: AnyProblem, policy: SamplingPolicy, estimator: Estimator, workload: Traced, home: Address
) -> tuple[Array, Array, None]:
    """By scores, for one estimator beside others that are pathwise: its gradient [P], and regret."""
    episode, regret = play(problem, policy, workload, home, rollouts=estimator.rollouts, world=estimator.world)
    return gradients_of(episode, (estimator,))[0], regret, None


def gradient_engine(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimators: tuple[Estimator, ...],
    *,
    engine: EngineName = "auto",
    every_episode: bool = False,
    fisher: bool = False,
    conditions: Conditions = EVERY_USER,
    workers: Workers = LOCAL,
) -> Engine:
    """The engine that computes gradients of a prepared policy under conditions; it is asked for blocks of any such
    workload, with any meta-parameters.

    A block gives moments of the gradient and of the regret, and the sum of the scores' outer products where `fisher` is
    asked for; with `every_episode` every gradient [B, E, P].
    """
    asked: dict[str, Any] = {
        "metric": estimators[0].metric_name,
        "baseline": estimators[0].baseline_name,
        "rollouts": estimators[0].rollouts,
        "single_time": estimators[0].single_time,
        "conditional": estimators[0].score == "conditional",
        "every_episode": every_episode,
        "fisher": fisher,
    }

    def on_native(policy: SamplingPolicy, workload: Workload) -> Iterator[Any]:
        kernel = native.kernel_for(problem, policy)
        assert kernel is not None
        for blocks in native.gradient_blocks(kernel, **asked, **workload.for_kernels):
            if every_episode:
                yield np.concatenate(blocks["every_episode"])[:, None]
                continue
            for row, count in enumerate(blocks["count"]):
                yield (
                    Moments(count, blocks["mean"][row], blocks["spread"][row]),
                    Moments(count, blocks["regret_mean"][row], blocks["regret_spread"][row]),
                    blocks["fisher"][row] if fisher else None,
                )

    chosen = choose_engine(
        engine,
        not_native=why_not_native(conditions) or _not_native(problem, policy, estimators),
        jax=JaxEngine(
            lambda policy, traced, block: _gradient_block(
                problem, policy, estimators, traced, block, every_episode, fisher
            )
        ),
        native_engine=NativeEngine(on_native),
    )
    options: dict[str, Any] = {"every_episode": every_episode, "fisher": fisher, "conditions": conditions}
    return workers.spread(chosen, partial(gradient_engine, problem, policy, estimators, engine=chosen.name, **options))


def _not_native(problem: AnyProblem, policy: SamplingPolicy, estimators: tuple[Estimator, ...]) -> str | None:
    """Why the native engine has no kernel for a gradient; None if it has one."""
    kernel = native.kernel_for(problem, policy)
    if kernel is None or not parameter_names(policy):
        return f"it has no kernel for the gradient of {type(policy).__name__} on this problem"
    if len(estimators) > 1:
        return "it computes one estimator at a time"
    (estimator,) = estimators
    # By registered names: a class of the user's that is called like one of ours is none.
    metric, baseline = (registered_name(type(part)) for part in (estimator.metric, estimator.baseline))
    if metric not in native.METRICS or baseline not in native.BASELINES:
        return f"it has no kernel for {estimator.name}"
    if estimator.score == "conditional" and not kernel.conditional:
        return f"it has no kernel for the conditional score of {type(policy).__name__}: use score='draw'"
    return None if estimator.world == "true" else "it reads the true world"


def estimated_gradient(engine: Engine, policy: SamplingPolicy, workload: Workload) -> Gradient:
    """The gradient at a prepared policy, by an engine that was chosen for it; blocks are added in order, in float64."""
    gradients, regrets, fisher = NOTHING, NOTHING, None
    for block_gradients, block_regrets, products in engine.blocks(policy, workload):
        gradients, regrets = gradients.add(block_gradients), regrets.add(block_regrets)
        if products is not None:
            fisher = np.asarray(products, np.float64) + (0.0 if fisher is None else fisher)
    names = parameter_names(policy)
    return Gradient(
        np.reshape(gradients.mean, len(names)),
        np.reshape(gradients.standard_error, len(names)),
        float(regrets.mean),
        float(regrets.standard_error),
        names,
        None if fisher is None else fisher / gradients.count,
    )
