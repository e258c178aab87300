"""Counts and sums: binomial, multinomial, Poisson and chi-square draws at an address.

None of them has a derivative; how batches move with shares is the matter of `tsgrad.estimate.pathwise`.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.laws.binomial import drawn_binomial
from tsgrad.laws.gamma import log_gamma
from tsgrad.streams import Noise


def binomial(count: Float[Array, "*n"], chance: Float[Array, "*n"], noise: Noise) -> Float[Array, "*n"]:
    """How many of `count` trials succeed, each with its chance.

    >>> from tsgrad.streams import Address, Purpose, Stream
    >>> noise = Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.REWARD)
    >>> print(binomial(jnp.array([10.0, 10.0]), jnp.array([0.0, 1.0]), noise))
    [ 0. 10.]
    """
    return drawn_binomial(count, jnp.clip(chance, 0, 1), noise.at(noise.t).step(0))


def poisson(rate: Float[Array, "*n"], noise: Noise) -> Float[Array, "*n"]:
    """A Poisson count of each rate."""
    key = jax.random.wrap_key_data(jnp.stack(noise.at(noise.t).key), impl="threefry2x32")
    return jax.random.poisson(key, rate).astype(jnp.result_type(rate))


def multinomial(count: Float[Array, ""], chances: Float[Array, "K"], noise: Noise) -> Float[Array, "K"]:
    """How `count` independent draws fall on K kinds: split in halves, and these in halves, by binomial draws.

    >>> from tsgrad.streams import Address, Purpose, Stream
    >>> noise = Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.POLICY)
    >>> found = multinomial(jnp.array(100.0), jnp.array([0.5, 0.0, 0.5]), noise)
    >>> print(found.sum(), found[1])
    100.0 0.0
    """
    kinds = chances.shape[0]
    depth = max(kinds - 1, 0).bit_length()
    if not depth:
        return jnp.reshape(count, (1,))
    half = (kinds + 1) // 2
    sums, firsts = chances, []
    for _ in range(depth):
        first, second = jnp.pad(sums, (0, sums.shape[0] % 2)).reshape(-1, 2).T
        sums = first + second
        # Nobody falls where chances are next to nothing.
        some = sums > _NOTHING
        chance = jnp.where(some, first / jnp.where(some, sums, 1), first > second)
        firsts.append(jnp.pad(chance, (0, half - chance.shape[0])))

    # Level by level in a loop, whose body is compiled once; entries that a level has no use for hold nobody.
    def split(counts: Float[Array, "w"], level: Any) -> tuple[Float[Array, "w"], None]:
        number, chance = level
        both = counts[:half]
        first = binomial(both, chance, noise.at(number))
        return jnp.stack([first, both - first], axis=1).ravel(), None

    start = jnp.zeros(2 * half, chances.dtype).at[0].set(count)
    counts, _ = jax.lax.scan(split, start, (jnp.arange(depth), jnp.stack(firsts[::-1])))
    return counts[:kinds]


def rounded(count: Float[Array, ""], chances: Float[Array, "K"], noise: Noise) -> Float[Array, "K"]:
    """`count` in proportion to chances, in whole numbers: each kind gets its share rounded up or down, the sum is kept,
    and the expectation of each is its share (systematic sampling: one uniform offset for all).

    >>> from tsgrad.streams import Address, Purpose, Stream
    >>> noise = Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.POLICY)
    >>> print(rounded(jnp.array(10.0), jnp.array([0.3, 0.3, 0.4]), noise))
    [3. 3. 4.]
    """
    share = count * chances
    ends = jnp.cumsum(share)
    ends = ends.at[-1].set(count)  # whatever rounding made of the sum
    # Sums that are whole numbers but for their last bits are taken for what they are.
    whole = jnp.round(ends)
    ends = jnp.where(jnp.abs(ends - whole) < 8 * np.finfo(ends.dtype).eps * jnp.maximum(whole, 1), whole, ends)
    places = jnp.floor(ends + 1 - noise.uniform(0))
    return jnp.diff(places, prepend=jnp.zeros(1, places.dtype))


def chi_square(freedom: Float[Array, "K"], noise: Noise) -> Float[Array, "K"]:
    """A chi-square draw of so many degrees of freedom; zero where there are none."""
    some = freedom > 0
    drawn = jnp.exp(log_gamma(jnp.where(some, freedom, 1) / 2, noise.at(noise.t).step(0)))
    return jnp.where(some, 2 * drawn, 0)


_NOTHING = 1e-12
