"""The law of randomness: a random number is a function of its address, never of when it was asked for.

An address is (seed, purpose, stream, iteration, rollout, look-ahead, episode), folded into a key by chained
threefry2x32, and a counter (t, slot) below that key. Whatever is computed, in whatever order, on however many
devices, asks for the same numbers: policies are compared on exactly the same episodes, and work that was lost
can be redone anywhere.

    >>> from tsgrad.streams import Address, Purpose, Stream
    >>> episode = Address.of(seed=0, purpose=Purpose.EVALUATION, episode=7)
    >>> noise = episode.noise(Stream.REWARD).step(3)
    >>> bool(noise.uniform(1) == noise.uniform(jnp.arange(5))[1])
    True

Randomness comes in the precision that JAX is in: float64 under `jax.enable_x64`, float32 otherwise.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, UInt32

from tsgrad.checks import check_count, check_type
from tsgrad_runtime.streams import KEY_PARITY, ROTATIONS, Purpose, Stream

Words = UInt32[Array, "..."] | np.uint32

__all__ = ["Address", "Noise", "Purpose", "Stream", "threefry2x32"]


@jax.jit  # one call to trace, batch and differentiate in place of 120 operations; XLA sees the same program
def threefry2x32(key: tuple[Words, Words], counter: tuple[Words, Words]) -> tuple[Array, Array]:
    """Threefry-2x32 with 20 rounds, elementwise over arrays that broadcast.

    Written out rather than taken from `jax.extend.random.threefry2x32_p`: on CPU that primitive is a rolled loop
    which XLA can't fuse with what consumes the bits, six times slower. A test holds the two equal.

        >>> [hex(int(word)) for word in threefry2x32((jnp.uint32(0), jnp.uint32(0)), (jnp.uint32(0), jnp.uint32(0)))]
        ['0x6b200159', '0x99ba4efe']
    """
    schedule = (key[0], key[1], key[0] ^ key[1] ^ KEY_PARITY)
    x0, x1 = counter[0] + schedule[0], counter[1] + schedule[1]
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation))
            x1 = x1 ^ x0
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return jnp.asarray(x0), jnp.asarray(x1)


@jax.jit  # traced and batched once for all streams of an episode
def _folded(words: tuple[Words, ...]) -> tuple[Array, Array]:
    """The key of an address: its eight words, a pair at a time."""

    def fold(key: tuple[Array, Array], pair: Array) -> tuple[tuple[Array, Array], None]:
        return threefry2x32(key, (pair[0], pair[1])), None

    # A loop rather than four copies of the rounds, which XLA would fuse into every use of the key.
    key, _ = jax.lax.scan(fold, (jnp.uint32(0), jnp.uint32(0)), jnp.stack(words).reshape(4, 2))
    return key


def _word(value: int | Integer[Array, "..."] | np.ndarray) -> Array:
    return jnp.asarray(value).astype(jnp.uint32)


def _float(word: Array) -> Array:
    """A 32-bit word as a float, with one rounding: hi16 * 65536 + lo16."""
    dtype = jnp.result_type(float)
    high, low = word >> np.uint32(16), word & np.uint32(0xFFFF)
    return high.astype(dtype) * 65536 + low.astype(dtype)


class Noise(eqx.Module):
    """An address to be asked for numbers; asking twice gives the same number twice.

    `slot` is an index or an array of indices, and the answer has its shape. Ask one kind of number of one
    address: a normal and a uniform of the same slot come from the same bits.
    """

    key: tuple[Array, Array]
    t: Array

    def step(self, t: int | Integer[Array, ""]) -> "Noise":
        """The same key at time t: worlds are drawn at 0, steps are 1..T."""
        return Noise(self.key, _word(t))

    def at(self, first: int | Integer[Array, ""], second: int | Integer[Array, ""] = 0) -> "Noise":
        """A sub-address, independent of this one and of every other sub-address."""
        return Noise(threefry2x32(self.key, (_word(first), _word(second))), self.t)

    def uniform(self, slot: int | Integer[Array, "..."]) -> Float[Array, "..."]:
        """Uniform on (0, 1]: (w + 1/2) / 2^32. Slots 2j and 2j + 1 are the two words of counter (t, j)."""
        slot = _word(slot)
        first, second = threefry2x32(self.key, (self.t, slot >> np.uint32(1)))
        return (_float(jnp.where(slot & np.uint32(1), second, first)) + 0.5) * 2.0**-32

    def uniform_pair(self, number: int | Integer[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The uniforms of slots 2j and 2j + 1, for j the number, at the cost of one of them."""
        first, second = threefry2x32(self.key, (self.t, _word(number)))
        return (_float(first) + 0.5) * 2.0**-32, (_float(second) + 0.5) * 2.0**-32

    def normal(self, slot: int | Integer[Array, "..."]) -> Float[Array, "..."]:
        """Standard normal, by Box-Muller: slot 2j is r cos, slot 2j + 1 is r sin, of the words of counter (t, j).

        The sine is taken as a cosine a quarter turn back, exact because angles are 32-bit integers: so every
        slot is the same elementwise formula, and an array of slots is one vectorised loop.
        """
        slot = _word(slot)
        first, second = threefry2x32(self.key, (self.t, slot >> np.uint32(1)))
        radius = jnp.sqrt(-2 * jnp.log((_float(first) + 0.5) * 2.0**-32))
        turned = second - ((slot & np.uint32(1)) << np.uint32(30))
        signed = jax.lax.bitcast_convert_type(turned, jnp.int32)
        return radius * jnp.cos(signed.astype(jnp.result_type(float)) * (2 * np.pi / 2**32))


class Address(eqx.Module):
    """Where the randomness of one episode lives. Leaves are traced, so that one compilation serves all addresses.

    >>> episode = Address.of(seed=0, purpose=Purpose.EVALUATION, episode=7)
    >>> again = Address.of(seed=0, purpose=Purpose.EVALUATION).with_episode(7)
    >>> bool(episode.noise(Stream.REWARD).step(3).normal(2) == again.noise(Stream.REWARD).step(3).normal(2))
    True
    """

    seed: tuple[Array, Array]  # high and low word of a 64-bit seed
    purpose: Array
    iteration: Array
    episode: Array

    @classmethod
    def of(cls, *, seed: int, purpose: Purpose, iteration: int = 0, episode: int = 0) -> "Address":
        """The address of an episode; `seed` is any integer from 0 to 2^64 - 1."""
        seed = check_count("seed", seed, least=0, most=2**64 - 1)
        iteration = check_count("iteration", iteration, least=0, most=2**32 - 1)
        episode = check_count("episode", episode, least=0, most=2**32 - 1)
        check_type("purpose", purpose, Purpose, remedy="such as tsgrad.Purpose.EVALUATION")
        words = (np.uint32(seed >> 32), np.uint32(seed & 0xFFFFFFFF))
        return cls(words, np.uint32(purpose), np.uint32(iteration), np.uint32(episode))  # type: ignore[arg-type]

    def with_episode(self, episode: Integer[Array, ""]) -> "Address":
        """The address of another episode of the same seed, purpose and iteration."""
        return Address(self.seed, self.purpose, self.iteration, _word(episode))

    def noise(
        self,
        stream: Stream,
        *,
        rollout: int | Integer[Array, ""] = 0,
        look_ahead: int | Integer[Array, ""] = 0,
    ) -> Noise:
        """The noise of a stream, at t = 0. Look-aheads count from 1; 0 is the episode itself."""
        words = (*self.seed, self.purpose, stream, self.iteration, rollout, look_ahead, self.episode)
        return Noise(_folded(tuple(_word(word) for word in words)), jnp.uint32(0))
