"""Binomial draws of any size, each at an address: by inversion where few succeed, else by rejection.

Rejection is Hörmann's (1993, "The generation of binomial random variates", algorithm BTRS), which takes one and a half
attempts at most on average. Logarithms of probabilities are differences from that of the mode, written so that float32
has digits left for them where hundreds of thousands of trials succeed.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Integer

from tsgrad.streams import Noise

_FEW = 10.0  # successes that are expected at most where inversion is cheaper, and at least where the hat fits
_MOST_OF_FEW = 45  # of ten that are expected there are more once in 10^14 draws
_NEGLIGIBLE = 1e-9  # a probability that rounding errors of a sum exceed
_MOST_ATTEMPTS = 100  # each fails with probability below 0.35


def drawn_binomial(count: Float[Array, "*n"], chance: Float[Array, "*n"], noise: Noise) -> Float[Array, "*n"]:
    """How many of `count` trials succeed; the randomness of each entry is its own.

    >>> from tsgrad.streams import Address, Purpose, Stream
    >>> noise = Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.REWARD)
    >>> print(drawn_binomial(jnp.array([3.0, 3.0]), jnp.array([0.0, 1.0]), noise))
    [0. 3.]
    """
    count, chance = jnp.broadcast_arrays(count, chance)
    slots = jnp.arange(count.size).reshape(count.shape)
    rarer = jnp.minimum(chance, 1 - chance)
    few = count * rarer < _FEW
    found = jnp.where(
        few,
        _by_inversion(jnp.where(few, count, 0), rarer, noise.step(0).uniform(slots)),
        _by_rejection(jnp.where(few, 4 * _FEW, count), jnp.where(few, 0.5, rarer), noise, slots, ~few),
    )
    return jnp.where(chance > 0.5, count - found, found)


def _by_inversion(
    count: Float[Array, "*n"], chance: Float[Array, "*n"], uniform: Float[Array, "*n"]
) -> Float[Array, "*n"]:
    """The number of values at which the distribution function is still below a uniform number."""
    odds = chance / (1 - chance)

    def unfinished(state: Any) -> Bool[Array, ""]:
        value, _, _, below, _ = state
        return jnp.asarray((value < _MOST_OF_FEW) & jnp.any(below))

    def step(state: Any) -> Any:
        value, reached, probability, below, successes = state
        reached = reached + probability
        # Where a probability is negligible the sum no longer grows, and says nothing of a uniform number next to one.
        below = below & (uniform > reached) & (probability > _NEGLIGIBLE)
        later = probability * odds * jnp.maximum(count - value, 0) * (1 / (value + 1))
        return value + 1, reached, later, below, successes + below

    nothing = jnp.zeros_like(count)
    start = (jnp.int32(0), nothing, jnp.exp(count * jnp.log1p(-chance)), jnp.ones(count.shape, bool), nothing)
    return jnp.asarray(jax.lax.while_loop(unfinished, step, start)[4])


class _Search(NamedTuple):
    """Uniforms are drawn one attempt ahead: XLA would draw them anew for every use within an attempt."""

    attempt: Integer[Array, ""]
    uniforms: tuple[Float[Array, "*n"], Float[Array, "*n"]]
    accepted: Bool[Array, "*n"]
    successes: Float[Array, "*n"]


def _by_rejection(
    n: Float[Array, "*n"],
    p: Float[Array, "*n"],
    noise: Noise,
    slots: Integer[Array, "*n"],
    wanted: Bool[Array, "*n"],
) -> Float[Array, "*n"]:
    """BTRS, in the names of its paper, for entries that are wanted: all of them expect ten successes or more."""
    spread = jnp.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * spread
    probabilities = _Probabilities.of(n, p)

    def unfinished(search: _Search) -> Bool[Array, ""]:
        return (search.attempt <= _MOST_ATTEMPTS) & ~jnp.all(search.accepted)

    def attempt(search: _Search) -> _Search:
        u, v = search.uniforms[0] - 0.5, search.uniforms[1]
        us = 0.5 - jnp.abs(u)
        k = jnp.floor((2 * a / us + b) * u + n * p + 0.5)
        possible = (us > 0) & (k >= 0) & (k <= n)
        height = jnp.log(v * alpha * us**2 / (a + b * us**2))
        taken = possible & (height <= probabilities.log_ratio(jnp.clip(k, 0, n))) & ~search.accepted
        later = search.attempt + 1
        successes = jnp.where(taken, k, search.successes)
        return _Search(later, noise.step(later).uniform_pair(slots), search.accepted | taken, successes)

    start = _Search(jnp.int32(1), noise.step(1).uniform_pair(slots), ~wanted, probabilities.mode)
    return jnp.asarray(jax.lax.while_loop(unfinished, attempt, start).successes)


class _Probabilities(NamedTuple):
    """Probabilities over that of the mode, by Stirling's formula for k! with k + 1 for k.

    Differences from the mode's terms are taken one by one: no digits are lost to large terms that cancel.
    """

    n: Float[Array, "*n"]
    mode: Float[Array, "*n"]
    by_successes: Float[Array, "*n"]  # one over mode + 1
    by_failures: Float[Array, "*n"]  # one over n - mode + 1
    slope: Float[Array, "*n"]
    rest: Float[Array, "*n"]

    @classmethod
    def of(cls, n: Float[Array, "*n"], p: Float[Array, "*n"]) -> "_Probabilities":
        mode = jnp.floor((n + 1) * p)
        failures = n - mode
        slope = _log_one_plus((mode + 1 - (n + 2) * p) / ((failures + 1) * p))
        return cls(n, mode, 1 / (mode + 1), 1 / (failures + 1), slope, _stirling(mode) + _stirling(failures))

    def log_ratio(self, k: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """The logarithm of the probability of k, less that of the mode's."""
        step, failures = k - self.mode, self.n - k
        of_successes = (k + 0.5) * _log_one_plus(step * self.by_successes)
        of_failures = (failures + 0.5) * _log_one_plus(-step * self.by_failures)
        return self.rest - _stirling(k) - _stirling(failures) - of_successes - of_failures - step * self.slope


def _log_one_plus(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """log(1 + x), by its series where x is small: several times faster than `log1p` on CPU, and as good."""
    s = x / (2 + x)
    square = s**2
    series = 2 * s * (1 + square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square * (1 / 9 + square / 11)))))
    return jnp.where(jnp.abs(x) < 0.3, series, jnp.log(1 + x))


def _stirling(k: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The logarithm of k! less (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2."""
    inverse = 1 / (k + 1)
    square = inverse**2
    return (1 / 12 - (1 / 360 - square / 1260) * square) * inverse
