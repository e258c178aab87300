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
    IndexPolicy,
    Policy,
    ReshapedBernoulli,
    ReshapedGaussian,
    ReshapedThompson,
    SamplingPolicy,
    Thompson,
    parameter_names,
)
from tsgrad.problems import AnyProblem, BernoulliBandit, GaussianBandit
from tsgrad.streams import Purpose

METRICS = ("obs", "mean", "fin", "bayes")  # in the order in which the kernels number them
BASELINES = ("null", "oracle", "self")

_SETS = ("avx512", "avx2", "plain")
_BLOCKS_A_CALL = 1024  # bounds what a call gives back, however many episodes are asked for


Fields = dict[str, FloatArray]


class Kernel(NamedTuple):
    """A problem and a policy as a kernel takes them: by the names of its arms and its law, and their fields by name.

    A field of the policy has one number an arm, or none where arms share it; `parameters` are the fields that a
    gradient is taken in, in the order of the policy's parameter vector.
    """

    arms: str
    law: str
    problem: Fields
    policy: Fields
    parameters: tuple[str, ...]


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


def _named(*names: str) -> Callable[[Any], Fields]:
    """Gives the named attributes of a problem or a policy, without those that are None."""

    def fields(owner: Any) -> Fields:
        given = {name: getattr(owner, name) for name in names}
        return {
            name: np.asarray(value, dtype=np.float64, order="C") for name, value in given.items() if value is not None
        }

    return fields


class _Law(NamedTuple):
    """A law of the kernels, and its fields for a problem and a policy."""

    name: str
    fields: Callable[[Any, Any], Fields]


def _of_policy(*names: str) -> Callable[[Any, Any], Fields]:
    return lambda problem, policy: _named(*names)(policy)


def _of_start(*names: str) -> Callable[[Any, Any], Fields]:
    """Plain Thompson sampling is what a reshaped policy starts from."""
    return lambda problem, policy: _named(*names)(ReshapedThompson(problem))


_GAUSSIAN = ("prior_mean", "log_prior_variance", "log_precision_ratio", "decay")
_BERNOULLI = ("log_alpha", "log_beta", "log_evidence_weight", "decay")
_ARMS: dict[type, tuple[str, Callable[[Any], Fields]]] = {
    GaussianBandit: ("gaussian", _named("prior_mean", "prior_std", "noise_std")),
    BernoulliBandit: ("bernoulli", _named("alpha", "beta")),
}
_LAWS: dict[tuple[type, type], _Law] = {
    (GaussianBandit, Thompson): _Law("reshaped-normal", _of_start(*_GAUSSIAN)),
    (GaussianBandit, ReshapedGaussian): _Law("reshaped-normal", _of_policy(*_GAUSSIAN)),
    (GaussianBandit, IndexPolicy): _Law("index", _of_policy("table", "spread")),
    (BernoulliBandit, Thompson): _Law("reshaped-beta", _of_start(*_BERNOULLI)),
    (BernoulliBandit, ReshapedBernoulli): _Law("reshaped-beta", _of_policy(*_BERNOULLI)),
    (BernoulliBandit, IndexPolicy): _Law("index", _of_policy("table", "spread")),
}


def kernel_for(problem: AnyProblem, policy: Policy) -> Kernel | None:
    """The kernel's view of a problem and a policy; None if there is no kernel for them.

    >>> kernel = kernel_for(GaussianBandit(arms=2), Thompson())
    >>> kernel.arms, kernel.law, kernel.policy["decay"]
    ('gaussian', 'reshaped-normal', array([0., 0.]))
    """
    model = problem.model
    law = _LAWS.get((type(model), type(policy)))
    if law is None or model is not problem.truth:
        return None
    arms, fields = _ARMS[type(model)]
    names = parameter_names(policy) if isinstance(policy, SamplingPolicy) else ()
    parameters = tuple(dict.fromkeys(name.partition("[")[0] for name in names))
    return Kernel(arms, law.name, fields(model), law.fields(model, policy), parameters)


def _processors() -> int:
    """How many processors this process may use; not every system tells, and then all of them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_available(available: Any, horizon: int, arms: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which arms can be played at each step, [T, K]: at least one."""
    mask = np.asarray(available, order="C")
    if mask.dtype != np.bool_ or mask.shape != (horizon, arms):
        raise BadInput(f"available must be booleans of shape ({horizon}, {arms}), got {mask.dtype} of {mask.shape}")
    if not np.all(np.any(mask, axis=1)):
        step = int(np.argmin(np.any(mask, axis=1))) + 1
        raise BadInput(f"available must have an arm to play at every step, got none at step {step}")
    return mask


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
    """The arguments of one call after the other, each for a bounded number of blocks; `episodes` is where they end."""
    module = compiled()
    mask = None if available is None else _check_available(available, horizon, next(iter(kernel.problem.values())).size)
    blocks = -(-episodes // module.BLOCK)
    for first in range(first_block, blocks, _BLOCKS_A_CALL):
        yield {
            "arms": kernel.arms,
            "law": kernel.law,
            "precision": precision,
            "problem": kernel.problem,
            "policy": kernel.policy,
            "available": mask,
            "horizon": horizon,
            "seed": seed,
            "purpose": int(purpose),
            "iteration": iteration,
            "episodes": episodes,
            "first_block": first,
            "blocks": min(_BLOCKS_A_CALL, blocks - first),
            "threads": _processors() if threads is None else threads,
        }


def gradient_blocks(
    kernel: Kernel,
    *,
    metric: str,
    baseline: str,
    rollouts: int,
    single_time: bool,
    every_episode: bool = False,
    threads: int | None = None,
    instruction_set: str | None = None,
    **where: Any,
) -> Iterator[dict[str, Any]]:
    """Moments of the gradient and of the regret, [block] first; with `every_episode` each gradient [block, 256, P]."""
    for call in _calls(kernel, threads=threads, **where):
        yield compiled(instruction_set).gradient(
            **call,
            metric=METRICS.index(metric),
            baseline=BASELINES.index(baseline),
            rollouts=rollouts,
            single_time=single_time,
            parameters=list(kernel.parameters),
            every_episode=every_episode,
        )


def simulation_blocks(
    kernel: Kernel,
    *,
    trajectories: bool = False,
    threads: int | None = None,
    instruction_set: str | None = None,
    **where: Any,
) -> Iterator[dict[str, Any]]:
    """Regret and reward [block, 256], regret of each step [block, T], pulls [block, K]; arms and rewards on request."""
    for call in _calls(kernel, threads=threads, **where):
        yield compiled(instruction_set).simulate(**call, trajectories=trajectories)
