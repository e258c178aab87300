"""The law of randomness, in NumPy: a random number is a function of its address, never of when it was asked for.

An address is (seed, purpose, stream, iteration, rollout, look-ahead, episode), folded into a key by chained
threefry2x32, and a counter (t, slot) below that key. Since numbers don't depend on what is decided, those of many steps
to come are drawn at once: one decision's share of that is a microsecond.

    >>> noise = Noise.of(seed=0, purpose=Purpose.EVALUATION, stream=Stream.POLICY, episode=7)
    >>> bool(noise.normal(3, 5)[1] == noise.normal(3, 2)[1])
    True
"""

import enum
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tsgrad_runtime.checks import FloatArray

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
KEY_PARITY = np.uint32(0x1BD11BDA)
AHEAD = 512  # steps whose numbers are drawn at once
# By how much words are turned in each round, to the left and thus to the right: as arrays, which NumPy would make of
# numbers every time.
_TURNS = [[(np.array(turn, np.uint32), np.array(32 - turn, np.uint32)) for turn in group] for group in ROTATIONS]
_MOST_KEPT = 2**18  # numbers of one kind, so that many arms don't take all memory

Kind = Literal["normal", "uniform"]
Words = np.ndarray[Any, np.dtype[np.uint32]]


class Purpose(enum.IntEnum):
    """What episodes are for. No policy is judged on episodes that it was trained or selected on."""

    TRAINING = 0
    VALIDATION = 1
    EVALUATION = 2
    DEPLOYMENT = 3


@enum.unique
class Stream(enum.IntEnum):
    """Which quantity of an episode a number belongs to. Numbers of different streams are independent."""

    WORLD = 0
    REWARD = 1
    CONTEXT = 2
    POLICY = 3
    POSTERIOR = 4  # worlds drawn from a posterior: the redrawn instance, and look-aheads
    REDRAWN_REWARD = 5  # rewards of an instance redrawn from the final posterior
    TIME = 6  # the step that a single-time estimator looks at
    PREDICTIVE = 7  # rewards that a model expects, to hold against those that came
    BOUND = 8  # worlds and rewards of the episodes that bounds on regret are averaged over
    FLOOR = 9  # which decisions are left to chance, so that every arm has its least share
    DELAY = 10  # when rewards are seen
    MEMBER = 11  # users who stand for their batch


def threefry2x32(key: tuple[Any, Any], counter: tuple[Any, Any]) -> tuple[Words, Words]:
    """Threefry-2x32 with 20 rounds, elementwise over arrays of counters, and of keys.

    >>> [hex(word[0]) for word in threefry2x32((0, 0), (np.zeros(1, np.uint32), np.zeros(1, np.uint32)))]
    ['0x6b200159', '0x99ba4efe']
    """
    first, second, key0, key1 = (np.atleast_1d(np.asarray(words, np.uint32)) for words in (*counter, *key))
    schedule = (key0, key1, key0 ^ key1 ^ KEY_PARITY)
    x0, x1 = first + key0, second + key1
    for group in range(5):
        for left, right in _TURNS[group % 2]:
            x0 += x1
            low = x1 >> right
            x1 <<= left
            x1 |= low
            x1 ^= x0
        x0 += schedule[(group + 1) % 3]
        x1 += schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


class Noise:
    """A key to be asked for the numbers of a step; asking twice gives the same numbers twice.

    Ask one kind of number of one address: a normal and a uniform of the same slot come from the same bits.
    """

    def __init__(self, key: tuple[int, int]) -> None:
        self.key = key
        self._below: dict[tuple[int, int], Noise] = {}
        self._kept: dict[str, tuple[int, FloatArray]] = {}
        self.prepared: dict[Any, Any] = {}  # what laws have made of numbers to come, by how many slots

    @classmethod
    def of(
        cls,
        *,
        seed: int,
        purpose: Purpose,
        stream: Stream,
        iteration: int = 0,
        rollout: int = 0,
        look_ahead: int = 0,
        episode: int = 0,
    ) -> "Noise":
        """The noise of a stream of an episode."""
        words = (seed >> 32, seed & 0xFFFFFFFF, purpose, stream, iteration, rollout, look_ahead, episode)
        key = (0, 0)
        for first, second in zip(words[::2], words[1::2], strict=True):
            key = _folded(key, first, second)
        return cls(key)

    def at(self, first: int, second: int = 0) -> "Noise":
        """A sub-address, independent of this one and of every other sub-address."""
        address = (first, second)
        if address not in self._below:
            self._below[address] = Noise(_folded(self.key, first, second))
        return self._below[address]

    def normal(self, t: int, slots: int) -> FloatArray:
        """Standard normals of step t, one a slot, by Box-Muller: slot 2j is r cos, slot 2j + 1 is r sin."""
        return np.asarray(self.rows("normal", t, slots, 1)[0])

    def uniform(self, t: int, slots: int) -> FloatArray:
        """Uniforms on (0, 1] of step t, one a slot: (w + 1/2) / 2^32."""
        return np.asarray(self.rows("uniform", t, slots, 1)[0])

    def rows(self, kind: Kind, t: int, slots: int, steps: int) -> FloatArray:
        """The numbers of step t and of those that follow it, [step, slot]."""
        start, kept = self._kept.get(kind, (0, _NOTHING))
        row = t - start
        if not (0 <= row <= kept.shape[0] - steps and slots <= kept.shape[1]):
            kept, row = self.ahead(kind, t, slots, steps), 0
            self._kept[kind] = t, kept
        return kept[row : row + steps, :slots]

    def ahead(self, kind: Kind, t: int, slots: int, least: int) -> FloatArray:
        """The numbers of step t and of many that follow it, `least` or more: [step, slot or more]."""
        steps = np.arange(t, t + max(least, min(AHEAD, _MOST_KEPT // max(slots, 1))))
        return _drawn(kind, self.key, steps, slots)


_NOTHING = np.zeros((0, 0))


def scattered(noises: Sequence[Noise], kinds: Sequence[Kind], steps: Any, slots: Any) -> list[FloatArray]:
    """Numbers of several noises, one kind each, at the same addresses (step, slot) [n]: [n] for each noise.

    >>> noise = Noise.of(seed=0, purpose=Purpose.EVALUATION, stream=Stream.POLICY)
    >>> (normal,) = scattered([noise], ["normal"], np.array([3, 5]), np.array([1, 4]))
    >>> bool(normal[1] == noise.normal(5, 6)[4])
    True
    """
    keys = np.repeat(np.array([noise.key for noise in noises], np.uint32), len(steps), axis=0)
    counters = np.tile(steps, len(noises)), np.tile(slots // 2, len(noises))
    words = threefry2x32((keys[:, 0], keys[:, 1]), counters)
    pairs = zip(*(np.split(word, len(noises)) for word in words), strict=True)
    return [
        _uniform(np.where(slots % 2, second, first))
        if kind == "uniform"
        else _radius(first) * _cosine(second - (slots % 2 << 30).astype(np.uint32))
        for kind, (first, second) in zip(kinds, pairs, strict=True)
    ]


def _folded(key: tuple[int, int], first: int, second: int) -> tuple[int, int]:
    x0, x1 = threefry2x32(key, (first, second))
    return int(x0[0]), int(x1[0])


def _drawn(kind: Kind, key: tuple[int, int], steps: Any, slots: int) -> FloatArray:
    """Numbers of several steps, [step, slot]."""
    pairs = (slots + 1) // 2
    counters = np.repeat(steps.astype(np.uint32), pairs), np.tile(np.arange(pairs, dtype=np.uint32), len(steps))
    first, second = (word.reshape(len(steps), pairs) for word in threefry2x32(key, counters))
    both = np.empty((len(steps), pairs, 2))
    if kind == "uniform":
        both[..., 0], both[..., 1] = _uniform(first), _uniform(second)
    else:
        radius = _radius(first)
        for turn in range(2):
            both[..., turn] = radius * _cosine(second - np.uint32(turn << 30))
    return both.reshape(len(steps), 2 * pairs)


def _uniform(word: Words) -> FloatArray:
    return np.asarray((word + 0.5) * 2.0**-32, np.float64)


def _radius(word: Words) -> FloatArray:
    return np.asarray(np.sqrt(-2 * np.log(_uniform(word))))


def _cosine(angle: Words) -> FloatArray:
    """Of an angle in 32 bits; the sine is the cosine a quarter turn back, which is exact in them."""
    return np.asarray(np.cos(angle.view(np.int32) * (2 * np.pi / 2**32)))
