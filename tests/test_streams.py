"""The law of randomness, against the published vector, JAX's own generator, NumPy, and distributions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry2x32_p
from scipy import stats

from false_alarms import z_bound
from tsgrad.streams import Address, Purpose, Stream, threefry2x32


def address(**where):
    return Address.of(**{"seed": 3, "purpose": Purpose.EVALUATION, **where})


def test_known_answer():
    zero = jnp.uint32(0)
    assert [int(word) for word in threefry2x32((zero, zero), (zero, zero))] == [0x6B200159, 0x99BA4EFE]


def test_equals_the_generator_of_jax():
    words = np.random.default_rng(0).integers(0, 2**32, (4, 1000), dtype=np.uint32)
    ours = threefry2x32((jnp.asarray(words[0]), jnp.asarray(words[1])), (jnp.asarray(words[2]), jnp.asarray(words[3])))
    theirs = threefry2x32_p.bind(*map(jnp.asarray, words))
    np.testing.assert_array_equal(np.stack(ours), np.stack(theirs))


def test_key_is_the_chain_that_the_design_states():
    key = (jnp.uint32(0), jnp.uint32(0))
    for pair in [(5, 7), (Purpose.VALIDATION, Stream.POLICY), (11, 2), (4, 13)]:
        key = threefry2x32(key, (jnp.uint32(pair[0]), jnp.uint32(pair[1])))
    where = Address.of(seed=(5 << 32) + 7, purpose=Purpose.VALIDATION, iteration=11, episode=13)
    noise = where.noise(Stream.POLICY, rollout=2, look_ahead=4)
    assert tuple(map(int, noise.key)) == tuple(map(int, key))


def test_numbers_are_those_of_the_design():
    """Box-Muller and uniforms, computed again from the bits in NumPy."""
    with jax.enable_x64(True):
        noise = address().noise(Stream.REWARD).step(9)
        slots = np.arange(6)
        first, second = (
            np.asarray(word, np.float64)
            for word in threefry2x32(noise.key, (jnp.uint32(9), jnp.arange(3, dtype=jnp.uint32)))
        )
        radius, angle = np.sqrt(-2 * np.log((first + 0.5) / 2**32)), 2 * np.pi * second / 2**32
        expected = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()
        np.testing.assert_allclose(noise.normal(slots), expected, atol=1e-14)
        uniforms = (np.stack([first, second], axis=1).ravel() + 0.5) / 2**32
        np.testing.assert_array_equal(noise.uniform(slots), uniforms)


def test_float32_is_float64_rounded():
    slots = np.arange(10_000)
    single = np.asarray(address().noise(Stream.WORLD).normal(slots))
    with jax.enable_x64(True):
        double = np.asarray(address().noise(Stream.WORLD).normal(slots))
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, atol=3e-6)


def test_asking_in_another_order_gives_the_same_numbers():
    """The same bits; a scalar and a vectorised logarithm may differ in the last place, blocks are all vectorised."""
    noise = address().noise(Stream.POLICY).step(2)
    uniforms, normals = np.asarray(noise.uniform(np.arange(7))), np.asarray(noise.normal(np.arange(7)))
    for slot in reversed(range(7)):
        assert float(noise.uniform(slot)) == uniforms[slot]
        np.testing.assert_allclose(noise.normal(slot), normals[slot], rtol=1e-6)


def test_distributions():
    """Kolmogorov-Smirnov tests; each p-value falls below 1e-4 once in 10,000 seeds."""
    many = np.arange(200_000)
    assert stats.kstest(np.asarray(address().noise(Stream.WORLD).normal(many)), "norm").pvalue > 1e-4
    assert stats.kstest(np.asarray(address().noise(Stream.REWARD).uniform(many)), "uniform").pvalue > 1e-4


def test_moments():
    sample = np.asarray(address().noise(Stream.WORLD).normal(np.arange(400_000)), np.float64)
    bound = z_bound(comparisons=4)
    for power, expected, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
        assert abs(np.mean(sample**power) - expected) < bound * np.sqrt(variance / sample.size)


PLACES = {
    "base": {},
    **{stream.name: {"stream": stream} for stream in Stream if stream is not Stream.WORLD},
    "purpose": {"purpose": Purpose.TRAINING},
    "seed": {"seed": 4},
    "high word of the seed": {"seed": 3 + (1 << 32)},
    "iteration": {"iteration": 1},
    "episode": {"episode": 1},
    "rollout": {"rollout": 1},
    "look-ahead": {"look_ahead": 1},
    "time": {"t": 1},
    "sub-address": {"at": 1},
}


@pytest.mark.long
def test_different_addresses_are_independent():
    """Correlations between all pairs of addresses, of the numbers and of their squares; neighbouring slots too."""
    count = 50_000

    def numbers(stream=Stream.WORLD, rollout=0, look_ahead=0, t=0, at=None, **where):
        noise = address(**where).noise(stream, rollout=rollout, look_ahead=look_ahead).step(t)
        noise = noise if at is None else noise.at(at)
        return np.asarray(noise.normal(np.arange(count)), np.float64)

    samples = np.stack([numbers(**place) for place in PLACES.values()])
    samples = np.concatenate([samples, np.roll(samples[:1], 1, axis=1)])
    off_diagonal = ~np.eye(len(samples), dtype=bool)
    bound = z_bound(comparisons=off_diagonal.sum()) / np.sqrt(count)
    assert np.abs(np.corrcoef(samples)[off_diagonal]).max() < bound
    assert np.abs(np.corrcoef(samples**2)[off_diagonal]).max() < bound


def test_episodes_are_independent():
    """Neighbouring episodes, iterations and rollouts, one number of each: what simulations average over."""
    base = address()
    episodes = np.arange(100_000, dtype=np.uint32)
    world, reward = (
        np.asarray(jax.vmap(lambda e, s=s: base.with_episode(e).noise(s).normal(0))(episodes), np.float64)
        for s in (Stream.WORLD, Stream.REWARD)
    )
    bound = z_bound(comparisons=4) / np.sqrt(episodes.size)
    assert abs(np.corrcoef(world[1:], world[:-1])[0, 1]) < bound
    assert abs(np.corrcoef(world, reward)[0, 1]) < bound
    assert abs(np.corrcoef(world**2, reward**2)[0, 1]) < bound
    assert stats.kstest(world, "norm").pvalue > 1e-4


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True, "0"])
def test_bad_seed(seed):
    with pytest.raises(ValueError, match="seed must be an integer from 0 to 18446744073709551615, got"):
        Address.of(seed=seed, purpose=Purpose.TRAINING)
