"""Offers the compiled kernels: which there are, for what, and how they are called."""

import functools
import importlib
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput
from tsgrad.policies import (
    Bonus,
    IndexPolicy,
    Policy,
    ReshapedBernoulli,
    ReshapedGaussian,
    ReshapedThompson,
    SamplingPolicy,
    Thompson,
    parameter_fields,
)
from tsgrad.problems import AnyProblem, BernoulliBandit, GaussianBandit
from tsgrad.registry import registered_name
from tsgrad.streams import Purpose

METRICS = ("obs", "mean", "fin", "bayes")  # in the order in which the kernels number them
BASELINES = ("null", "oracle", "self")

_BLOCKS_A_CALL = 1024  # bounds what a call gives back, however many episodes are asked for

Fields = dict[str, FloatArray]


class Kernel(NamedTuple):
    """A problem and a policy as a kernel takes them: by the names of its arms and its law, and their fields by name.

    Those of a problem are there twice, for what is true and for what policies believe.

    A field of the policy has one number per arm, or none where arms share it; `parameters` are the fields that a
    gradient is taken in, in the order of the policy's parameter vector. Whether the law has the conditional score, and
    whether it asks how long arms stay, is said beside it.
    """

    arms: str
    law: str
    truth: Fields
    problem: Fields
    policy: Fields
    parameters: tuple[str, ...]
    conditional: bool
    scheduled: bool


@functools.cache
def compiled(instruction_set: str | None = None) -> Any:
    """The compiled module for an instruction set, or for the best that the processor has; None if there is none."""
    try:
        plain = importlib.import_module("tsgrad.native._kernels_plain")
    except ImportError:
        return None
    if instruction_set is None:
        instruction_set = plain.instruction_sets()[0]
    return importlib.import_module(f"tsgrad.native._kernels_{instruction_set}")


def why_unavailable() -> str | None:
    """Why the native engine can't be used here; None if it can."""
    if compiled() is None:
        return "not built: install tsgrad where there is a C++20 compiler to have it, 20 times faster than jax"
    return None


def _fields(owner: Any, *names: str) -> Fields:
    """The named attributes of a problem or a policy, without those that are None."""
    given = {name: getattr(owner, name) for name in names}
    return {name: np.asarray(value, np.float64, order="C") for name, value in given.items() if value is not None}


def _gaussian(problem: GaussianBandit) -> Fields:
    return _fields(problem, "prior_mean", "prior_std", "noise_std")


def _bernoulli(problem: BernoulliBandit) -> Fields:
    return _fields(problem, "alpha", "beta")


def _reshaped_normal(problem: GaussianBandit, policy: Any) -> Fields:
    return _fields(policy, "prior_mean", "log_prior_variance", "log_precision_ratio", "decay")


def _reshaped_beta(problem: BernoulliBandit, policy: Any) -> Fields:
    return _fields(policy, "log_alpha", "log_beta", "log_evidence_weight", "decay")


def _plain_normal(problem: GaussianBandit, policy: Thompson) -> Fields:
    return _reshaped_normal(problem, ReshapedThompson(problem))


def _plain_beta(problem: BernoulliBandit, policy: Thompson) -> Fields:
    return _reshaped_beta(problem, ReshapedThompson(problem))


def _bonus(problem: Any, policy: Bonus) -> Fields:
    return _fields(policy, "bonus", "log_spread", "most_left", "least_known", "most_known", "ceiling")


def _index(problem: Any, policy: IndexPolicy) -> Fields:
    return _fields(policy, "table", "spread")


class _Law(NamedTuple):
    """A law as its header names it, the fields it takes of a policy, and what else it has; see `Kernel`."""

    name: str
    fields: Callable[[Any, Any], Fields]
    conditional: bool = False
    scheduled: bool = False


_BONUS = _Law("bonus", _bonus, conditional=True, scheduled=True)

# What kernels there are: the arms of a problem with their fields, and the law of a policy over them.
_ARMS: dict[type, tuple[str, Callable[[Any], Fields]]] = {
    GaussianBandit: ("gaussian", _gaussian),
    BernoulliBandit: ("bernoulli", _bernoulli),
}
_LAWS: dict[tuple[type, type], _Law] = {
    (GaussianBandit, Thompson): _Law("reshaped-normal", _plain_normal),
    (GaussianBandit, ReshapedGaussian): _Law("reshaped-normal", _reshaped_normal, conditional=True),
    (GaussianBandit, Bonus): _BONUS,
    (GaussianBandit, IndexPolicy): _Law("index", _index),
    (BernoulliBandit, Thompson): _Law("reshaped-beta", _plain_beta),
    (BernoulliBandit, ReshapedBernoulli): _Law("reshaped-beta", _reshaped_beta, conditional=True),
    (BernoulliBandit, Bonus): _BONUS,
    (BernoulliBandit, IndexPolicy): _Law("index", _index),
}


def kernel_for(problem: AnyProblem, policy: Policy) -> Kernel | None:
    """The kernel's view of a problem and a policy; None if there is no kernel for them.

    >>> kernel = kernel_for(GaussianBandit(arms=2), Thompson())
    >>> kernel.arms, kernel.law, kernel.policy["decay"]
    ('gaussian', 'reshaped-normal', array([0., 0.]))
    """
    model = problem.model
    law = _LAWS.get((type(model), type(policy)))
    if law is None or type(problem.truth) is not type(model):
        return None
    arms, problem_fields = _ARMS[type(model)]
    parameters = parameter_fields(policy) if isinstance(policy, SamplingPolicy) else ()
    fields = problem_fields(problem.truth), problem_fields(model), law.fields(model, policy)
    return Kernel(arms, law.name, *fields, parameters, law.conditional, law.scheduled)


def covered() -> str:
    """What there are kernels for, by the names that files have for it.

    >>> print(covered().partition(";")[0])
    arms: gaussian, bernoulli
    """
    arms = ", ".join(name for name, _ in _ARMS.values())
    policies = ", ".join(dict.fromkeys(str(registered_name(policy)) for _, policy in _LAWS))
    return f"arms: {arms}; policies: {policies}; estimators: {', '.join(METRICS)} x {', '.join(BASELINES)}"


def processors() -> int:
    """How many processors this process may use; not every system tells, and then all of them.

    The variable OMP_NUM_THREADS allows it less, as it does for other numerical libraries.
    """
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return min(own, int(allowed)) if allowed.isdecimal() and int(allowed) > 0 else own


def _check_available(available: Any, horizon: int, arms: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which arms can be played at each step, [T, K]: at least one."""
    mask = np.asarray(available, order="C")
    if mask.dtype != np.bool_ or mask.shape != (horizon, arms):
        raise BadInput(f"available must be booleans of shape ({horizon}, {arms}), got {mask.dtype} of {mask.shape}")
    if not np.all(np.any(mask, axis=1)):
        step = int(np.argmin(np.any(mask, axis=1))) + 1
        raise BadInput(f"available must have an arm to play at every step, got none at step {step}")
    return mask


def _arms_left(available: np.ndarray[Any, np.dtype[np.bool_]]) -> FloatArray:
    """How many steps are left from each on while each arm is there, [T, K]."""
    return np.ascontiguousarray(np.cumsum(available[::-1], axis=0, dtype=np.float64)[::-1])


def _calls(
    kernel: Kernel,
    *,
    horizon: int,
    seed: int,
    purpose: Purpose,
    iteration: int,
    episodes: int,
    precision: str,
    threads: int | None,
    first_block: int = 0,
    available: Any = None,
) -> Iterator[dict[str, Any]]:
    """The arguments of one call after the other, each for a bounded number of blocks.

    From block `first_block` on; `episodes` is where they end. `available` [T, K] says which arms can be played at
    each step, of all episodes; None where all can.
    """
    arms = next(iter(kernel.problem.values())).size
    mask = None if available is None else _check_available(available, horizon, arms)
    schedule = {} if mask is None or not kernel.scheduled else {"arms_left": _arms_left(mask)}
    blocks = -(-episodes // compiled().BLOCK)
    for first in range(first_block, blocks, _BLOCKS_A_CALL):
        yield {
            "arms": kernel.arms,
            "law": kernel.law,
            "precision": precision,
            "truth": kernel.truth,
            "problem": kernel.problem,
            "policy": kernel.policy | schedule,
            "available": mask,
            "horizon": horizon,
            "seed": seed,
            "purpose": int(purpose),
            "iteration": iteration,
            "episodes": episodes,
            "first_block": first,
            "blocks": min(_BLOCKS_A_CALL, blocks - first),
            "threads": processors() if threads is None else threads,
        }


def gradient_blocks(
    kernel: Kernel,
    *,
    metric: str,
    baseline: str,
    rollouts: int,
    single_time: bool,
    conditional: bool = False,
    every_episode: bool = False,
    fisher: bool = False,
    threads: int | None = None,
    instruction_set: str | None = None,
    **where: Any,
) -> Iterator[dict[str, Any]]:
    """Moments of the gradient and of the regret, [block] first; with `every_episode` each gradient [block, 256, P].

    With `fisher` also sums over episodes of the scores' outer products [block, P, P].

    `where` is what `_calls` takes: horizon, seed, purpose, iteration, episodes, precision, first_block, available.
    """
    for call in _calls(kernel, threads=threads, **where):
        yield compiled(instruction_set).gradient(
            **call,
            metric=METRICS.index(metric),
            baseline=BASELINES.index(baseline),
            rollouts=rollouts,
            single_time=single_time,
            parameters=list(kernel.parameters),
            conditional=conditional,
            every_episode=every_episode,
            fisher=fisher,
        )


def simulation_blocks(
    kernel: Kernel,
    *,
    trajectories: bool = False,
    threads: int | None = None,
    instruction_set: str | None = None,
    **where: Any,
) -> Iterator[dict[str, Any]]:
    """Regret and reward [block, 256], regret of each step [block, T], pulls [block, K]; arms and rewards on request.

    `where` is as for `gradient_blocks`.
    """
    for call in _calls(kernel, threads=threads, **where):
        yield compiled(instruction_set).simulate(**call, trajectories=trajectories)
