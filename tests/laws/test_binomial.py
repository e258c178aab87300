"""Binomial draws: probabilities against scipy's, and counts of draws, where few succeed and where many do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from tsgrad.laws.binomial import _Probabilities, drawn_binomial
from tsgrad.streams import Address, Purpose, Stream

DRAWS = 50_000
HOME = Address.of(seed=0, purpose=Purpose.EVALUATION)


@pytest.mark.parametrize(("n", "p"), [(25, 0.4), (100, 0.1), (10_000, 0.3), (140_000, 0.004)])
def test_probabilities_are_those_of_scipy(n, p):
    """Over that of the mode, where the logarithm is above -16: Stirling's formula is off by 3e-4 at no success at all,
    and float32 by less at 140,000 trials.
    """
    k = np.arange(n + 1)
    exact = stats.binom.logpmf(k, n, float(np.float32(p)))
    exact = exact - exact[int((n + 1) * p)]
    seen = exact > -16
    found = np.asarray(_Probabilities.of(jnp.float32(n), jnp.float32(p)).log_ratio(jnp.asarray(k, jnp.float32)))
    np.testing.assert_allclose(found[seen], exact[seen], atol=1e-3)


@pytest.mark.formulas
def test_draws_have_the_binomial_law():
    """Chi-square over about 20 cells of 50,000 draws, for each number of trials: once in 1,000 seeds any of them is
    below p = 1e-4.
    """
    drawn = jax.jit(lambda n, p: drawn_binomial(jnp.full(DRAWS, n), jnp.full(DRAWS, p), HOME.noise(Stream.POLICY)))
    for n, p in [(3, 0.3), (20, 0.5), (50, 0.21), (1000, 0.7), (10_000, 0.0011), (20_000, 0.004), (1_000_000, 0.5)]:
        law = stats.binom(n, float(np.float32(p)))
        edges = np.unique(law.ppf(np.linspace(0.001, 0.999, 21)))
        expected = DRAWS * np.diff([0, *law.cdf(edges), 1])
        counts = np.bincount(np.searchsorted(edges, drawn(jnp.float32(n), jnp.float32(p))), minlength=len(expected))
        kept = expected > 5
        assert counts[~kept].sum() < 20
        assert stats.chi2.sf(np.sum((counts - expected)[kept] ** 2 / expected[kept]), kept.sum() - 1) > 1e-4, (n, p)


def test_what_is_certain_is_drawn():
    noise = HOME.noise(Stream.POLICY)
    count, chance = jnp.array([0.0, 7.0, 7.0, 5000.0, 5000.0]), jnp.array([0.4, 0.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(drawn_binomial(count, chance, noise), [0, 0, 7, 0, 5000])
