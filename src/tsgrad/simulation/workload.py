"""A workload: which episodes are to be simulated, under which conditions. Frozen, checked once, handed down whole."""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any, Literal, TypedDict

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, UInt32

from tsgrad.checks import BadInput, check_choice, check_count, check_type
from tsgrad.simulation.conditions import Conditions
from tsgrad.streams import Address, Purpose

BLOCK = 256  # episodes; large enough to hide the cost of a step, small enough for its arrays to stay in cache
CHUNK = 4
MOST_STEPS = 2**31 - 1
MOST_EPISODES = 2**32 - 1 - BLOCK  # they are numbered in 32 bits

Precision = Literal["float32", "float64"]


class WorkloadExtras(TypedDict, total=False):
    """What can always be left out of `WorkloadOptions`: for functions that know usual values of the others too."""

    purpose: Purpose
    iteration: int
    first_episode: int
    precision: Precision
    chunk: int
    conditions: Conditions


class WorkloadOptions(WorkloadExtras):
    """What `simulate`, `gradient`, `compare` and others take to say which episodes; see `Workload`."""

    horizon: int
    episodes: int
    seed: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Workload:
    """Which episodes are played, and how. Functions that simulate take these fields as keywords.

    Args:
        horizon: how many steps an episode has.
        episodes: how many of them.
        seed: which episodes.
        purpose: training, validation or evaluation: each has its own episodes; functions know theirs.
        iteration: of training; each has its own episodes.
        first_episode: where to start, a multiple of 256 (whole blocks): parts give the episodes of one whole.
        precision: "float32" or "float64".
        chunk: how many blocks are computed at once on each device; it bounds memory and changes no result.
        conditions: under which they are played.

    Raises:
        BadInput: if a value is out of its range.

        >>> Workload(horizon=10, episodes=1000, seed=0, purpose=Purpose.EVALUATION, first_episode=100)
        Traceback (most recent call last):
        tsgrad_runtime.checks.BadInput: first_episode must be a multiple of 256, got 100

    """

    horizon: int
    episodes: int
    seed: int
    purpose: Purpose
    iteration: int = 0
    first_episode: int = 0
    precision: Precision = "float32"
    chunk: int = CHUNK
    conditions: Conditions = dataclasses.field(default_factory=Conditions)

    def __post_init__(self) -> None:
        bounds = {
            "horizon": (1, MOST_STEPS),
            "episodes": (1, MOST_EPISODES),
            "seed": (0, 2**64 - 1),
            "iteration": (0, 2**32 - 1),
            "chunk": (1, None),
        }
        for name, (least, most) in bounds.items():
            self._settle(name, check_count(name, getattr(self, name), least=least, most=most))
        most = MOST_EPISODES - self.episodes
        self._settle("first_episode", check_count("first_episode", self.first_episode, least=0, most=most))
        if self.first_episode % BLOCK:
            raise BadInput(f"first_episode must be a multiple of {BLOCK}, got {self.first_episode}")
        check_type("purpose", self.purpose, Purpose, remedy="such as tsgrad.Purpose.EVALUATION")
        check_choice("precision", self.precision, ("float32", "float64"))
        check_type("conditions", self.conditions, Conditions, remedy="such as tsgrad.Conditions(batch=100)")

    def _settle(self, name: str, value: int) -> None:
        """Counts as Python's own integers, whatever kind of integer was given."""
        object.__setattr__(self, name, value)

    @classmethod
    def of(cls, purpose: Purpose, options: WorkloadOptions) -> "Workload":
        """From keywords of a function whose episodes have this purpose by default."""
        given: Any = {"purpose": purpose, **options}
        return cls(**given)

    @property
    def options(self) -> WorkloadOptions:
        """The same as keywords of functions that simulate; `of` makes a workload of them again.

        >>> five = Workload(horizon=10, episodes=5, seed=0, purpose=Purpose.EVALUATION)
        >>> Workload.of(Purpose.TRAINING, five.options) == five
        True
        """
        fields: Any = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        options: WorkloadOptions = fields
        return options

    def part(self, **changes: Any) -> "Workload":
        """The same, but for some fields."""
        return dataclasses.replace(self, **changes)

    def in_parts(self, blocks: int) -> list["Workload"]:
        """Parts of so many blocks, which are the whole together.

        >>> whole = Workload(horizon=10, episodes=1000, seed=0, purpose=Purpose.EVALUATION)
        >>> [(part.first_episode, part.episodes) for part in whole.in_parts(2)]
        [(0, 512), (512, 488)]
        """
        size = blocks * BLOCK
        return [
            self.part(first_episode=self.first_episode + done, episodes=min(size, self.episodes - done))
            for done in range(0, self.episodes, size)
        ]

    @property
    def blocks(self) -> range:
        """The numbers of the blocks that hold the episodes."""
        first = self.first_episode // BLOCK
        return range(first, first - (-self.episodes // BLOCK))

    @property
    def for_kernels(self) -> dict[str, Any]:
        """What the native kernels take of it; they know no conditions but which arms there are."""
        told = self.conditions.told(self.horizon)
        return {
            "horizon": self.horizon,
            "seed": self.seed,
            "purpose": self.purpose,
            "iteration": self.iteration,
            "episodes": self.first_episode + self.episodes,
            "precision": self.precision,
            "first_block": self.blocks.start,
            "available": None if told.available is None else told.mask(self.horizon),
        }

    @property
    def traced(self) -> "Traced":
        """What a compiled block needs to know of it."""
        address = Address.of(seed=self.seed, purpose=self.purpose, iteration=self.iteration)
        end = np.uint32(self.first_episode + self.episodes)
        return Traced(address, end, self.conditions.told(self.horizon), self.horizon)

    @property
    def users(self) -> int:
        """How many users an episode has: what policies take for its horizon."""
        return self.conditions.users(self.horizon)


class Traced(eqx.Module):
    """A workload as compiled blocks see it: one compilation serves all addresses."""

    address: Address
    end: UInt32[Array, ""] | np.uint32  # the number after the last episode
    conditions: Conditions
    horizon: int = eqx.field(static=True)

    def episodes(self, block: UInt32[Array, ""]) -> UInt32[Array, "B"]:
        """The numbers of the episodes of a block."""
        return block * np.uint32(BLOCK) + jnp.arange(BLOCK, dtype=jnp.uint32)

    def is_real(self, episodes: UInt32[Array, "B"]) -> Bool[Array, "B"]:
        """Which episodes of a block are asked for; the others pad the last block and must not count."""
        return episodes < self.end


@contextlib.contextmanager
def in_precision(precision: Precision) -> Iterator[None]:
    """Computes in float32 or in float64, whatever JAX is set to outside.

    Products of matrices too: accelerators round their factors to 10 or 8 bits unless told otherwise, which square roots
    of covariances and integrals of information don't survive.
    """
    with jax.enable_x64(precision == "float64"), jax.default_matmul_precision("highest"):
        yield
