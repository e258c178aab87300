"""The gradient of expected reward in the meta-parameters, by any estimator: of all episodes, or of each."""

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_finite_results, check_type
from tsgrad.estimate.estimator import Estimator
from tsgrad.estimate.gradient_blocks import Gradient, estimated_gradient, gradient_engine
from tsgrad.estimate.pathwise import gradient_used
from tsgrad.policies import SamplingPolicy
from tsgrad.problems import AnyProblem
from tsgrad.simulation import LOCAL, Engine, EngineName, Workers, Workload, WorkloadOptions, check_workers, ready_for
from tsgrad.streams import Purpose


def gradient(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimator: Estimator,
    *,
    engine: EngineName = "auto",
    fisher: bool = False,
    workers: Workers = LOCAL,
    **workload: Unpack[WorkloadOptions],
) -> Gradient:
    """The gradient of expected total reward in the meta-parameters, from simulated episodes.

    Args:
        problem: what is played.
        policy: whose meta-parameters are to be moved.
        estimator: metric, baseline, and how they are put to use.
        engine: "jax", "native", or "auto" for the fastest that can run.
        fisher: whether to estimate the Fisher matrix too.
        workers: who computes: this process, or `tsgrad.RayWorkers`; the result is the same.
        workload: which episodes: `horizon`, `episodes`, `seed`, and the other fields of `Workload`.

    Returns:
        The gradient with standard errors, and the regret of the episodes.

    Raises:
        BadInput: if the estimator does not suit the problem or its conditions, or the engine can't run it; the message
            says what to use instead.

    >>> from tsgrad.problems import GaussianBandit
    >>> from tsgrad.policies import ReshapedThompson
    >>> problem = GaussianBandit(arms=2)
    >>> policy = ReshapedThompson(problem, shared=True)
    >>> found = gradient(problem, policy, Estimator("mean", "self"), horizon=10, episodes=1000, seed=0)
    >>> found.names
    ('prior_mean', 'log_prior_variance', 'log_precision_ratio', 'decay')
    >>> bool(found.mean[3] > 3 * found.standard_error[3])  # sampling less towards the end pays
    True

    """
    checked = Workload.of(Purpose.TRAINING, workload)
    check_workers(workers)
    ready = ready_for_gradient(problem, policy, (estimator,), checked)
    computing = gradient_engine(
        problem,
        ready,
        (estimator,),
        engine=engine,
        fisher=fisher,
        conditions=checked.conditions,
        workers=workers,
    )
    found = estimated_gradient(computing, ready, checked)
    wrong = np.flatnonzero(~np.isfinite(found.mean))
    if wrong.size:
        raise BadInput(
            f"the gradient of {found.names[wrong[0]]} is {found.mean[wrong[0]]}: use precision='float64', or check"
            " contexts and priors"
        )
    return found


def episode_gradients(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimators: Mapping[str, Estimator],
    *,
    engine: EngineName = "auto",
    workers: Workers = LOCAL,
    **workload: Unpack[WorkloadOptions],
) -> dict[str, FloatArray]:
    """Each episode's own gradient [N, P], by every estimator, all from one simulated record of the episode.

    For studies of variance: all estimators see the same rollouts, so that they differ in nothing else.

    Args:
        problem: what is played.
        policy: whose meta-parameters gradients are taken in.
        estimators: by name; all of the same world.
        engine: "jax", "native", or "auto" for the fastest that can run.
        workers: who computes: this process, or `tsgrad.RayWorkers`; the result is the same.
        workload: which episodes: `horizon`, `episodes`, `seed`, and the other fields of `Workload`.

    Returns:
        The gradients [N, P] of each estimator, by its name.

    Raises:
        BadInput: if an estimator does not suit the problem, or the engine can't run it.

    >>> import tsgrad as tg
    >>> problem = tg.GaussianBandit(arms=2)
    >>> estimators = {"obs": Estimator("obs", "null"), "mean": Estimator("mean", "null")}
    >>> found = episode_gradients(problem, tg.ReshapedThompson(problem), estimators, horizon=5, episodes=100, seed=0)
    >>> found["mean"].shape, bool(found["mean"].var() < found["obs"].var())
    ((100, 8), True)

    """
    checked = Workload.of(Purpose.TRAINING, workload)
    check_type("estimators", estimators, Mapping, remedy='such as {"a": tsgrad.Estimator("mean", "self")}')
    check_workers(workers)
    chosen = tuple(estimators.values())
    ready = ready_for_gradient(problem, policy, chosen, checked)
    computing = gradient_engine(
        problem, ready, chosen, engine=engine, every_episode=True, conditions=checked.conditions, workers=workers
    )
    gradients = every_gradient(computing, ready, checked)
    return {name: gradients[:, index] for index, name in enumerate(estimators)}


def every_gradient(engine: Engine, policy: SamplingPolicy, workload: Workload) -> FloatArray:
    """Each episode's gradients [N, E, P] at a prepared policy, by an engine that was chosen for every episode."""
    gradients = np.concatenate(list(engine.blocks(policy, workload)))[: workload.episodes].astype(np.float64)
    check_finite_results("gradient", gradients)
    return gradients


def ready_for_gradient(
    problem: AnyProblem, policy: SamplingPolicy, estimators: tuple[Estimator, ...], workload: Workload
) -> Any:
    """The policy made ready, once policy, estimators and workload fit the problem."""
    if not estimators:
        raise BadInput("estimators must name at least one estimator, got none")
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    check_type("policy", policy, SamplingPolicy, remedy="which has a law to differentiate")
    for estimator in estimators:
        check_type("estimator", estimator, Estimator, remedy='such as tsgrad.Estimator("mean", "self")')
        estimator.check(problem, workload.conditions)
    if len({estimator.world for estimator in estimators}) > 1:
        raise BadInput("estimators computed from one record must have the same world: compute them in separate calls")
    ready = ready_for(problem, policy, workload)
    for estimator in estimators:
        gradient_used(problem, ready, estimator, workload.conditions)
    return ready
