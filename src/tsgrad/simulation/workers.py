"""Workers: who computes. The workload says which blocks there are, the engine what a block gives.

A block is a pure function of its address, and the host adds blocks in order, so that the answer never changes a bit.
"""

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from tsgrad.checks import check_type
from tsgrad.simulation.engines import Engine

Item = TypeVar("Item")
Found = TypeVar("Found")


class Workers(abc.ABC):
    """Who computes: this process, with its threads and devices, or others."""

    @abc.abstractmethod
    def spread(self, engine: Engine, build: Callable[[], Engine]) -> Engine:
        """The engine, its blocks computed by these workers, each of which makes its own by `build`, once."""

    @abc.abstractmethod
    def each(self, work: Callable[[Item], Found], items: Sequence[Item]) -> Iterator[tuple[int, Found]]:
        """work(item) of every item with the item's place, in the order in which they get done.

        A piece of work that was lost is done again from its start: what it left on disk it must be able to go on from.
        """


class LocalWorkers(Workers):
    """What there is in this process: threads of the native engine, one per processor, and JAX devices, one block each.

    >>> list(LocalWorkers().each(abs, [-1, 2]))
    [(0, 1), (1, 2)]
    """

    def spread(self, engine: Engine, build: Callable[[], Engine]) -> Engine:
        return engine

    def each(self, work: Callable[[Item], Found], items: Sequence[Item]) -> Iterator[tuple[int, Found]]:
        return ((place, work(item)) for place, item in enumerate(items))


LOCAL = LocalWorkers()


def check_workers(workers: Any) -> None:
    """What a user hands in as `workers`."""
    check_type("workers", workers, Workers, remedy="such as tsgrad.RayWorkers()")
