"""Engines: what simulates. One meaning, one randomness; they differ in speed and in what they cover.

The unit of work is a block of a fixed number of episodes: the same compiled computation on every device, and what it
gives is put together on the host, in order and in float64. So results don't depend on how many blocks are under way at
once, or where.
"""

import abc
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from tsgrad import native
from tsgrad.checks import BadInput, check_choice
from tsgrad.simulation.workload import Workload, in_precision

EngineName = Literal["auto", "jax", "native"]


class Engine(abc.ABC):
    """Something that is chosen once for a problem, a kind of policy and what is asked of them, and then asked for
    blocks of any workload, by any policy of that kind.
    """

    name: Literal["jax", "native"]

    @abc.abstractmethod
    def blocks(self, policy: Any, workload: Workload) -> Iterator[Any]:
        """What is asked for, block by block and in order, as NumPy arrays."""


class JaxEngine(Engine):
    """Runs every problem, policy and estimator: `compute(policy, traced workload, block number)` is jitted."""

    name: Literal["jax", "native"] = "jax"

    def __init__(self, compute: Callable[[Any, Any, Any], Any]) -> None:
        self.compute = compute

    def blocks(self, policy: Any, workload: Workload) -> Iterator[Any]:
        traced = workload.traced
        return over_blocks(lambda block: self.compute(policy, traced, block), workload)


class NativeEngine(Engine):
    """Runs what there are kernels for: `compute(policy, workload)` calls them, several blocks at a time."""

    name: Literal["jax", "native"] = "native"

    def __init__(self, compute: Callable[[Any, Workload], Iterator[Any]]) -> None:
        self.compute = compute

    def blocks(self, policy: Any, workload: Workload) -> Iterator[Any]:
        return self.compute(policy, workload)


def choose_engine(name: str, *, not_native: str | None, jax: JaxEngine, native_engine: NativeEngine) -> Engine:
    """The engine of that name, or the fastest that can run; `not_native` says why the native one has no kernel."""
    check_choice("engine", name, ("auto", "jax", "native"))
    reason = native.why_unavailable() or not_native
    if name == "native" and reason is not None:
        raise BadInput(f"engine 'native' can't run this: {reason}; use engine='auto'")
    return jax if name == "jax" or reason is not None else native_engine


def over_blocks(compute: Callable[[Any], Any], workload: Workload) -> Iterator[Any]:
    """compute(block number), block by block and in order, as NumPy arrays.

    At most `workload.chunk` blocks are under way on each local device, which bounds the memory in use.
    """
    devices = jax.local_devices()
    under_way: deque[Any] = deque()
    for block in workload.blocks:
        if len(under_way) == workload.chunk * len(devices):
            yield jax.device_get(under_way.popleft())
        with in_precision(workload.precision):
            under_way.append(compute(jax.device_put(np.uint32(block), devices[block % len(devices)])))
    while under_way:
        yield jax.device_get(under_way.popleft())


class EngineReport(NamedTuple):
    """Whether an engine can be used here, and what there is to say about it."""

    name: str
    available: bool
    detail: str


def engines() -> list[EngineReport]:
    """Every engine, and whether it can be used on this machine.

    Returns:
        A report of each: its name, whether it is available, and what it covers or why it is missing.

    >>> [engine.name for engine in engines()]
    ['native', 'jax']

    """
    devices = ", ".join(f"{device.platform}:{device.id}" for device in jax.local_devices())
    missing = native.why_unavailable()
    best = "" if missing else f"; {native.compiled().instruction_sets()[0]} instructions"
    return [
        EngineReport("native", missing is None, missing or native.covered() + best),
        EngineReport("jax", True, f"every problem, policy and estimator; on {devices}; JAX {jax.__version__}"),
    ]
