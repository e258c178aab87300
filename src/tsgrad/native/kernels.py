"""Offers the compiled kernels: which there are, for what, and how they are called."""

import functools
import importlib
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.policies import IndexPolicy, Policy, ReshapedBernoulli, ReshapedGaussian, ReshapedThompson, Thompson
from tsgrad.problems import AnyProblem, BernoulliBandit, GaussianBandit
from tsgrad.streams import Purpose

METRICS = ("obs", "mean", "fin", "bayes")  # in the order in which the kernels number them
BASELINES = ("null", "oracle", "self")

_SETS = ("avx512", "avx2", "plain")
_BLOCKS_A_CALL = 1024  # bounds what a call gives back, however many episodes are asked for


class Kernel(NamedTuple):
    """A problem and a policy as a kernel takes them. Axes: problem [3 or 2, K], policy [4, K]."""

    family: str
    problem: FloatArray
    policy: FloatArray
    shared: bool
    table: FloatArray | None = None  # of an index policy: [K or 1, T or 1, cell]
    spread: FloatArray | None = None


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


def kernel_for(problem: AnyProblem, policy: Policy) -> Kernel | None:
    """The kernel's view of a problem and a policy; None if there is no kernel for them."""
    model = problem.model
    if model is not problem.truth:
        return None
    start: Any
    if isinstance(model, GaussianBandit):
        family, numbers = "gaussian", np.stack([model.prior_mean, model.prior_std, model.noise_std])
        start, reshaped = ReshapedThompson(model), isinstance(policy, ReshapedGaussian)
    elif isinstance(model, BernoulliBandit):
        family, numbers = "bernoulli", np.stack([model.alpha, model.beta])
        start, reshaped = ReshapedThompson(model), isinstance(policy, ReshapedBernoulli)
    else:
        return None
    if isinstance(policy, IndexPolicy):
        table, spread = (None if one is None else np.ascontiguousarray(one) for one in (policy.table, policy.spread))
        return Kernel(family, numbers, _rows(start, model.arms), False, table, spread)
    sampled: Any = start if isinstance(policy, Thompson) else policy if reshaped else None
    if sampled is None:
        return None
    return Kernel(family, numbers, _rows(sampled, model.arms), np.ndim(sampled.decay) == 0)


def _rows(policy: Any, arms: int) -> FloatArray:
    """The meta-parameters of a reshaped policy, in the order of its fields: [4, K]."""
    return np.stack([np.broadcast_to(np.asarray(row, np.float64), (arms,)) for row in vars(policy).values()])


def _processors() -> int:
    """How many processors this process may use; not every system tells, and then all of them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
) -> Iterator[dict[str, Any]]:
    """The arguments of one call after the other, each for a bounded number of blocks; `episodes` is where they end."""
    module = compiled()
    blocks = -(-episodes // module.BLOCK)
    for first in range(first_block, blocks, _BLOCKS_A_CALL):
        yield {
            "family": kernel.family,
            "precision": precision,
            "problem": kernel.problem,
            "policy": kernel.policy,
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
            shared=kernel.shared,
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
    """Regret and reward [block, 256], what was lost [block, T], pulls [block, K]; arms and rewards on request."""
    for call in _calls(kernel, threads=threads, **where):
        yield compiled(instruction_set).simulate(
            **call, table=kernel.table, spread=kernel.spread, trajectories=trajectories
        )
