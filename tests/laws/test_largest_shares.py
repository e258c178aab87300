"""Shares against quadrature of higher order in the values themselves, and against counts of draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from false_alarms import largest_z, z_bound
from tsgrad.laws import BetaLaw, GammaLaw, NormalGammaLaw, NormalLaw, largest_shares
from tsgrad.laws.counts import multinomial, rounded
from tsgrad.streams import Address, Purpose, Stream

TAILS = [1e-13, 1e-8, 1e-5, 1e-3, 0.02, 0.1, 0.3]
LEVELS = np.array([*TAILS, 0.5, *(1 - tail for tail in TAILS[::-1])])


def reference(laws):
    """By 40 points of Gauss's rule between all quantiles of all laws, with scipy's distribution functions."""
    ends = np.unique(np.concatenate([law.ppf(LEVELS) for law in laws]))
    points, weights = np.polynomial.legendre.leggauss(40)
    width = np.diff(ends)[:, None]
    x = ends[:-1, None] + width * (1 + points) / 2
    cdf = np.stack([law.cdf(x) for law in laws])
    found = np.array(
        [
            np.sum(width * weights / 2 * law.pdf(x) * np.prod(np.delete(cdf, arm, axis=0), axis=0))
            for arm, law in enumerate(laws)
        ]
    )
    assert abs(found.sum() - 1) < 1e-8
    return found


def normal(rng, arms, ratio):
    location, scale = rng.normal(size=arms), ratio ** rng.uniform(-1, 0, size=arms)
    return (NormalLaw, location, scale), [stats.norm(*law) for law in zip(location, scale, strict=True)]


def beta(rng, arms, ratio):
    alpha, beta = (2 * ratio ** rng.uniform(0, 1, size=arms) for _ in range(2))
    return (BetaLaw, alpha, beta), [stats.beta(*law) for law in zip(alpha, beta, strict=True)]


def gamma(rng, arms, ratio):
    shape, mean = ratio ** rng.uniform(0, 1, size=arms), np.exp(rng.normal(size=arms) / 5)
    return (GammaLaw, shape, shape / mean), [stats.gamma(a, scale=m / a) for a, m in zip(shape, mean, strict=True)]


def student(rng, arms, ratio):
    location, weight = rng.normal(size=arms), ratio ** rng.uniform(0, 1, size=arms)
    shape, rate = np.exp(rng.uniform(-0.4, 3, size=arms)), np.exp(rng.normal(size=arms))
    scale = np.sqrt(rate / (shape * weight))
    laws = [stats.t(2 * a, m, s) for a, m, s in zip(shape, location, scale, strict=True)]
    return (NormalGammaLaw, location, weight, shape, rate), laws


@pytest.mark.formulas
@pytest.mark.parametrize("make", [normal, beta, gamma, student])
def test_shares_of_narrow_and_wide_arms_together(make):
    """Scales that differ by factors of up to 1,000, in both precisions."""
    rng = np.random.default_rng(3)
    shares = jax.jit(largest_shares)
    for arms, ratio in [(3, 10.0), (3, 1000.0), (10, 1000.0)]:
        (kind, *parameters), laws = make(rng, arms, ratio)
        expected = reference(laws)
        with jax.enable_x64(True):
            exact = shares(kind(*map(jnp.asarray, parameters)))
        np.testing.assert_allclose(exact, expected, atol=1e-7 if make is normal else 1e-6)
        short = shares(kind(*map(jnp.asarray, parameters)))
        np.testing.assert_allclose(short, expected, atol=1e-4)


@pytest.mark.formulas
@pytest.mark.parametrize("make", [normal, beta])
def test_shares_respect_masks_and_have_derivatives(make):
    """Of available arms alone; the derivative by central differences of step 1e-5, whose own error is below 1e-8."""
    (kind, *parameters), laws = make(np.random.default_rng(4), 4, 5.0)
    available = np.array([True, False, True, True])
    with jax.enable_x64(True):
        law = kind(*map(jnp.asarray, parameters))
        shares = jax.jit(lambda law: largest_shares(law, jnp.asarray(available)))
        np.testing.assert_allclose(
            np.asarray(shares(law))[available], reference([laws[k] for k in (0, 2, 3)]), atol=1e-9
        )
        assert shares(law)[1] == 0
        leaves, structure = jax.tree.flatten(law)
        slopes = jax.jit(jax.jacobian(lambda law: largest_shares(law, jnp.asarray(available))))(law)
        for place, slope in enumerate(jax.tree.leaves(slopes)):
            for arm in range(4):
                up, down = (
                    shares(
                        jax.tree.unflatten(
                            structure, [leaf.at[arm].add(step) if i == place else leaf for i, leaf in enumerate(leaves)]
                        )
                    )
                    for step in (1e-5, -1e-5)
                )
                np.testing.assert_allclose(slope[:, arm], (up - down) / 2e-5, atol=1e-6)


def test_shares_of_narrow_arms_far_from_zero():
    """Two arms of width 1e-5 near 100, apart by one step of float32: Phi of the difference over sqrt(2) widths."""
    location = np.array([100.0, np.nextafter(np.float32(100), np.float32(200))])
    found = largest_shares(NormalLaw(jnp.asarray(location, jnp.float32), jnp.full(2, 1e-5)))
    np.testing.assert_allclose(found[1], stats.norm.cdf((location[1] - location[0]) / (np.sqrt(2) * 1e-5)), atol=1e-5)


@pytest.mark.formulas
def test_shares_and_derivatives_are_finite_however_laws_lie():
    """2,000 sets of ten normal arms, scales apart by up to 100,000, in float32."""
    rng = np.random.default_rng(0)
    location = jnp.asarray(rng.normal(size=(2000, 10)) * 10 ** rng.uniform(-3, 1, size=(2000, 1)), jnp.float32)
    scale = jnp.asarray(10 ** rng.uniform(-4, 1, size=(2000, 10)), jnp.float32)
    slopes = jnp.asarray(rng.normal(size=(2000, 10)), jnp.float32)

    def one(location, scale, slope):
        return jax.vjp(lambda *law: largest_shares(NormalLaw(*law)), location, scale)[1](slope)

    shares = jax.jit(jax.vmap(lambda *law: largest_shares(NormalLaw(*law))))(location, scale)
    np.testing.assert_allclose(np.sum(shares, axis=1), 1, atol=1e-5)
    by_location, by_scale = jax.jit(jax.vmap(one))(location, scale, slopes)
    assert np.all(np.isfinite(by_location))
    assert np.all(np.isfinite(by_scale))


def test_shares_are_what_a_million_draws_show():
    """Three normal arms; one false alarm in a thousand seeds."""
    law = NormalLaw(jnp.array([0.0, 0.5, 0.2]), jnp.array([1.0, 0.1, 2.0]))
    drawn = np.random.default_rng(0).normal(law.location, law.scale, size=(1_000_000, 3)).argmax(axis=1)
    counted = np.bincount(drawn, minlength=3) / 1e6
    shares = np.asarray(largest_shares(law), float)
    assert largest_z(counted, shares, np.sqrt(shares * (1 - shares) / 1e6)) < z_bound(3)


@pytest.mark.formulas
def test_counts_have_their_means_and_covariances():
    """4,096 draws of 20 users on three kinds: means and covariances within z, one false alarm in a thousand seeds."""
    chances, number = np.array([0.2, 0.5, 0.3]), 4096
    home = Address.of(seed=0, purpose=Purpose.EVALUATION)

    def drawn(allocate):
        def one(episode):
            noise = home.with_episode(episode).noise(Stream.POLICY)
            return allocate(jnp.array(20.0), jnp.asarray(chances, jnp.float32), noise)

        return np.asarray(jax.jit(jax.vmap(one))(jnp.arange(number, dtype=jnp.uint32)), float)

    independent, proportional = drawn(multinomial), drawn(rounded)
    np.testing.assert_array_equal(independent.sum(axis=1), 20)
    np.testing.assert_array_equal(proportional, [[4.0, 10.0, 6.0]] * number)
    covariance = 20 * (np.diag(chances) - np.outer(chances, chances))
    centred = independent - 20 * chances
    products = centred[:, :, None] * centred[:, None]
    values = np.concatenate([centred, products.reshape(number, 9)], axis=1)
    expected = np.concatenate([np.zeros(3), covariance.ravel()])
    assert largest_z(values.mean(axis=0), expected, values.std(axis=0) / np.sqrt(number)) < z_bound(12)


@pytest.mark.formulas
def test_rounded_shares_are_right_on_average():
    """5 users in shares .3, .3, .4: each count is its share rounded up or down, and right on average (4,096 draws)."""
    home = Address.of(seed=0, purpose=Purpose.EVALUATION)
    chances = np.array([0.3, 0.3, 0.4])

    def one(episode):
        noise = home.with_episode(episode).noise(Stream.POLICY)
        return rounded(jnp.array(5.0), jnp.asarray(chances, jnp.float32), noise)

    counts = np.asarray(jax.jit(jax.vmap(one))(jnp.arange(4096, dtype=jnp.uint32)), float)
    assert np.abs(counts - 5 * chances).max() < 1
    np.testing.assert_array_equal(counts.sum(axis=1), 5)
    assert largest_z(counts.mean(axis=0), 5 * chances, counts.std(axis=0) / 64) < z_bound(3)
