"""Bayes-UCB and optimistic Gittins indices against slow, independent computations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

import tsgrad as tg
from tsgrad.policies.rivals.bayes_ucb import BetaQuantile, upper_quantile
from tsgrad.policies.rivals.optimistic_gittins import optimistic_bonus
from tsgrad.problems.tabled import beta_cells

GAUSSIAN = tg.GaussianBandit(prior_mean=[0.0, 1.0], prior_std=[1.0, 2.0], noise_std=[0.5, 3.0])
BERNOULLI = tg.BernoulliBandit(alpha=[1.0, 0.4], beta=[1.0, 2.5])
CONTEXTS = tg.LinearBandit(features=tg.GaussianContexts(arms=3, dimension=2), prior_mean=[0.5, -0.3])
HORIZON = 12


def reached(table):
    """(arm, t, cell) of some entries that an episode can reach."""
    _, steps, cells = table.shape
    pulls = np.arange(cells) if cells == steps else np.sum(beta_cells(steps), axis=0)
    return [(arm, t, cell) for arm in (0, 1) for t in (1, 2, 5, steps) for cell in np.flatnonzero(pulls < t)]


def posterior(problem, arm, cell):
    if isinstance(problem, tg.GaussianBandit):
        variance = 1 / (problem.prior_std[arm] ** -2 + cell * problem.noise_std[arm] ** -2)
        return stats.norm(0, np.sqrt(variance))
    successes, failures = (count[cell] for count in beta_cells(HORIZON))
    return stats.beta(problem.alpha[arm] + successes, problem.beta[arm] + failures)


@pytest.mark.parametrize("problem", [GAUSSIAN, BERNOULLI])
@pytest.mark.parametrize("quantile", [None, 0.8, np.linspace(0.5, 0.95, HORIZON)])
def test_bayes_ucb_is_the_quantile(problem, quantile):
    table = tg.BayesUCB(quantile).prepare(problem, HORIZON).table
    levels = 1 - 1 / np.arange(1, HORIZON + 1) if quantile is None else np.broadcast_to(quantile, HORIZON)
    for arm, t, cell in reached(table):
        law = posterior(problem, arm, cell)
        expected = law.ppf(levels[t - 1]) - law.mean() if levels[t - 1] > 0 else 0.0
        np.testing.assert_allclose(table[arm, t - 1, cell], expected, atol=1e-9)


def test_bayes_ucb_of_long_horizons_needs_no_table():
    """Beyond T = 405; quantiles computed as they are needed are those of the table, and lead to the same choices."""
    assert isinstance(tg.BayesUCB().prepare(BERNOULLI, 1000), BetaQuantile)
    tabled = tg.BayesUCB().prepare(BERNOULLI, HORIZON)
    computed = BetaQuantile(levels=tg.BayesUCB().levels(HORIZON))
    where = {"horizon": HORIZON, "episodes": 256, "seed": 0, "precision": "float64"}
    first, second = (tg.simulate(BERNOULLI, policy, **where).regret for policy in (tabled, computed))
    np.testing.assert_allclose(first, second, atol=1e-9)


@pytest.mark.parametrize(("precision", "most"), [("float32", 0.01), ("float64", 1e-8)])
def test_beta_quantiles_are_scipys(precision, most):
    """Within `most` standard deviations of the law, from wide to narrow, far into the tail."""
    alpha, beta = (
        np.array([1.0, 0.5, 0.1, 0.01, 3.0, 1.0, 98.0, 1000.0, 0.5]),
        np.array([1.0, 0.5, 0.1, 0.5, 1.0, 300.0, 4802.0, 1000.0, 5000.0]),
    )
    with jax.enable_x64(precision == "float64"):
        compute = jax.jit(upper_quantile)
        for above in (0.5, 0.1, 1e-3, 1e-5):
            found = np.asarray(compute(jnp.asarray(alpha), jnp.asarray(beta), jnp.asarray(above)), np.float64)
            law = stats.beta(alpha, beta)
            assert np.all(np.abs(found - law.isf(above)) < most * law.std())


@pytest.mark.parametrize("problem", [GAUSSIAN, BERNOULLI])
@pytest.mark.parametrize("discount", ["elapsed", "left"])
def test_optimistic_gittins_solves_its_equation(problem, discount):
    """The root of v = (1 - g) m + g E max(theta, v) by bisection, the expectation by quadrature of P(theta > x)."""
    table = tg.OptimisticGittins(discount).prepare(problem, HORIZON).table
    for arm, t, cell in reached(table)[::5]:
        law = posterior(problem, arm, cell)
        g = 1 - 1 / (t if discount == "elapsed" else HORIZON - t + 1)

        def excess(v, law=law, g=g):
            above, _ = integrate.quad(law.sf, v, law.ppf(1 - 1e-13), epsabs=1e-12, limit=200)
            return v - (1 - g) * law.mean() - g * (v + above)

        root = optimize.brentq(excess, law.mean() - 1e-6, law.ppf(1 - 1e-13), xtol=1e-12)
        np.testing.assert_allclose(table[arm, t - 1, cell], root - law.mean(), atol=1e-8)


def test_optimistic_bonus_check_values():
    found = optimistic_bonus(np.array([0.0, 0.5, 0.9, 0.99, 0.998]))
    np.testing.assert_allclose(found, [0, 0.27603, 0.90146, 1.72078, 2.23112], atol=6e-6)


def test_greedy_is_a_single_table_of_zeros():
    for problem in (GAUSSIAN, BERNOULLI):
        table = tg.Greedy().prepare(problem, 300).table
        assert table.shape[:2] == (1, 1)
        assert not table.any()


def test_arms_that_are_alike_share_a_table():
    assert tg.BayesUCB().prepare(tg.GaussianBandit(prior_mean=[0.0, 1.0, 2.0]), 7).table.shape == (1, 7, 7)
    assert tg.BayesUCB().prepare(tg.GaussianBandit(noise_std=[0.0 + 1, 2.0, 1.0]), 7).table.shape == (3, 7, 7)


def test_scaled_thompson_with_factor_one_is_thompson_sampling():
    options = {"horizon": 10, "episodes": 500, "seed": 3, "precision": "float64", "engine": "native"}
    ours, plain = (tg.simulate(GAUSSIAN, policy, **options) for policy in (tg.ScaledThompson(1.0), tg.Thompson()))
    np.testing.assert_allclose(ours.regret, plain.regret, atol=1e-11)


@pytest.mark.long
@pytest.mark.parametrize("problem", [BERNOULLI, CONTEXTS])
def test_scaled_thompson_lies_between_greedy_and_thompson_sampling(problem):
    """Arms that are not Gaussian: the choices of Thompson sampling at factor 1, of greedy where it is all but 0."""
    options = {"horizon": 10, "episodes": 500, "seed": 3, "precision": "float64", "engine": "jax"}
    pairs = [(tg.ScaledThompson(1.0), tg.Thompson()), (tg.ScaledThompson(1e-12), tg.Greedy())]
    for ours, other in pairs:
        found, expected = (tg.simulate(problem, policy, **options).regret for policy in (ours, other))
        np.testing.assert_allclose(found, expected, atol=1e-11)
    half = tg.simulate(problem, tg.ScaledThompson(0.5), **options).regret
    assert not np.array_equal(half, found)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: tg.BayesUCB(1.0), "quantile must be one number below 1, or one per step, got 1.0"),
        (lambda: tg.BayesUCB(0.0), "quantile must be > 0, got 0.0"),
        (lambda: tg.BayesUCB([0.5, 0.6]).prepare(GAUSSIAN, 3), "quantile must be one number, or 3 for this horizon"),
        (
            lambda: tg.OptimisticGittins("lef"),
            r"discount must be one of elapsed, left, got 'lef' \(did you mean 'left'",
        ),
        (lambda: tg.ScaledThompson(-1), "factor must be > 0, got -1.0"),
        (lambda: tg.ScaledThompson([1.0, 2.0]), r"factor must be one number, got shape \(2,\)"),
        (lambda: tg.SatisficingThompson(-0.1), "tolerance must be one number >= 0, got -0.1"),
        (lambda: tg.TopTwoThompson(1.5), "beta must be one number from 0 to 1, got 1.5"),
        (lambda: tg.InformationDirected("entropy"), "gain must be one of variance, mutual, got 'entropy'"),
        (lambda: tg.RelaxationSampling("V0"), "penalty must be one of FH, V-Zero, INDEX, got 'V0'"),
        (
            lambda: tg.OptimisticGittins().prepare(BERNOULLI, 500),
            "horizon must be smaller for a table of indices: 500 takes",
        ),
        (
            lambda: tg.KnowledgeGradient().prepare(BERNOULLI, 5),
            # the rival that the contributing guide defines may be there too
            "policy KnowledgeGradient is not defined for BernoulliBandit; rivals that are: ABTest,"
            " BatchKnowledgeGradient, BayesUCB,( EpsilonGreedy,)? ExploreThenCommit, FiniteHorizonGittins, Greedy,"
            " InformationDirected, OptimisticGittins, ResidualHorizon, SatisficingThompson, ScaledThompson,"
            " SuccessiveElimination, TopTwoThompson, Uniform$",
        ),
        (
            lambda: tg.FiniteHorizonGittins().prepare(tg.BallBandit(dimension=2), 5),
            "policy FiniteHorizonGittins is not defined for BallBandit; rivals that are: none",
        ),
    ],
)
def test_bad_input(ask, message):
    with pytest.raises(tg.BadInput, match=message):
        ask()
