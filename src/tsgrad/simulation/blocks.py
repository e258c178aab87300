"""Blocks: episodes are simulated a fixed number at a time, whoever computes them.

A block is the same compiled computation on every device, and what it gives is put together on the host, in order
and in float64. So results don't depend on how many blocks are under way at once, or where.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, UInt32

from tsgrad.checks import check_choice, check_count

BLOCK = 256  # episodes; large enough to hide the cost of a step, small enough for its arrays to stay in cache

Precision = Literal["float32", "float64"]


def in_precision(precision: Precision) -> contextlib.AbstractContextManager[Any]:
    """Computes in float32 or in float64, whatever JAX is set to outside."""
    context: contextlib.AbstractContextManager[Any] = jax.enable_x64(precision == "float64")
    return context


def check_blocks(episodes: int, precision: str, chunk: int) -> None:
    """What every engine asks of a request for episodes."""
    check_count("episodes", episodes, least=1, most=2**32 - 1 - BLOCK)
    check_count("chunk", chunk, least=1)
    check_choice("precision", precision, ("float32", "float64"))


def block_episodes(block: UInt32[Array, ""]) -> UInt32[Array, "B"]:
    """The numbers of the episodes of a block."""
    return block * np.uint32(BLOCK) + jnp.arange(BLOCK, dtype=jnp.uint32)


def is_real(episodes: UInt32[Array, "B"], total: UInt32[Array, ""] | np.uint32) -> Bool[Array, "B"]:
    """Which episodes of a block are asked for; the others pad the last block and must not count."""
    return episodes < total


def over_blocks(
    compute: Callable[[Any], Any], *, episodes: int, precision: Precision, chunk: int, first_block: int = 0
) -> Iterator[Any]:
    """compute(block number), block by block and in order, as NumPy arrays.

    At most `chunk` blocks are under way on each local device, which bounds the memory in use.
    """
    devices = jax.local_devices()
    under_way: deque[Any] = deque()
    for block in range(first_block, first_block - (-episodes // BLOCK)):
        if len(under_way) == chunk * len(devices):
            yield jax.device_get(under_way.popleft())
        with in_precision(precision):
            under_way.append(compute(jax.device_put(np.uint32(block), devices[block % len(devices)])))
    while under_way:
        yield jax.device_get(under_way.popleft())
