"""Reshaped posteriors: the paper's formula, sharing, bounds, and bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg
from tsgrad.policies import (
    Clock,
    ReshapedBernoulli,
    ReshapedGaussian,
    parameter_names,
    parameter_vector,
    with_parameters,
)
from tsgrad.problems.gaussian import GaussianBelief

pytestmark = pytest.mark.formulas


def test_the_formula_of_the_paper():
    with jax.enable_x64(True):
        m, v, rho, gamma = np.array([0.1, -0.5]), np.array([0.7, 2.0]), np.array([3.0, 0.2]), np.array([0.5, 1.5])
        policy = ReshapedGaussian(
            prior_mean=m, log_prior_variance=np.log(v), log_precision_ratio=np.log(rho), decay=gamma
        )
        pulls, total = jnp.array([3.0, 0.0]), jnp.array([2.5, 0.0])
        law = policy.law(tg.GaussianBandit(arms=2), GaussianBelief(pulls, total), None, tg.Context(), Clock(7, 10))
        np.testing.assert_allclose(law.location, (m + rho * total) / (1 + rho * pulls), rtol=1e-12)
        np.testing.assert_allclose(law.scale**2, v * 0.4**gamma / (1 + rho * pulls), rtol=1e-12)


def test_names_and_units():
    policy = tg.ReshapedThompson(tg.GaussianBandit(prior_std=[2.0, 1.0], noise_std=0.5))
    assert parameter_names(policy) == tuple(
        f"{name}[{arm}]"
        for name in ("prior_mean", "log_prior_variance", "log_precision_ratio", "decay")
        for arm in (0, 1)
    )
    units = policy.meta_parameters()
    np.testing.assert_allclose(units["prior_variance"], [4, 1])
    np.testing.assert_allclose(units["precision_ratio"], [16, 4])


def test_shared_meta_parameters_fit_any_number_of_arms():
    policy = tg.ReshapedThompson(tg.GaussianBandit(arms=3), shared=True)
    assert parameter_names(policy) == ("prior_mean", "log_prior_variance", "log_precision_ratio", "decay")
    for arms in (2, 7):
        assert tg.simulate(tg.GaussianBandit(arms=arms), policy, horizon=3, episodes=10, seed=0).pulls.shape == (arms,)


def test_shared_gradient_is_the_sum_over_arms():
    problem = tg.GaussianBandit(arms=3)
    one, many = (
        tg.gradient(
            problem,
            tg.ReshapedThompson(problem, shared=shared),
            tg.Estimator("mean", "self"),
            horizon=5,
            episodes=3000,
            seed=0,
            precision="float64",
        ).mean
        for shared in (True, False)
    )
    np.testing.assert_allclose(one, many.reshape(4, 3).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("problem", [tg.GaussianBandit(arms=2), tg.BernoulliBandit(arms=2)])
@pytest.mark.parametrize("value", [-1e4, 1e4])
def test_extreme_meta_parameters_stay_finite(problem, value):
    """A law that has all but lost its variance, or has none to lose, still draws and scores in float32."""
    policy = tg.ReshapedThompson(problem)
    for index in range(parameter_vector(policy).size):
        vector = parameter_vector(policy)
        vector[index] = value
        found = tg.gradient(
            problem, with_parameters(policy, vector), tg.Estimator("mean", "oracle"), horizon=4, episodes=100, seed=0
        )
        assert np.all(np.isfinite(found.mean))


@pytest.mark.long
@pytest.mark.parametrize("engine", ["native", "jax"])
@pytest.mark.parametrize(
    ("problem", "kind", "value"),
    [(tg.GaussianBandit(prior_mean=[1.0, 1.1]), 1, -19.9), (tg.BernoulliBandit(arms=2), 3, 4.0)],
    ids=["gaussian", "bernoulli"],
)
def test_float32_gradients_hold_where_laws_concentrate(problem, kind, value, engine):
    """At the edge of what the bounds allow: float32 within half a standard error of float64."""
    policy = tg.ReshapedThompson(problem)
    vector = parameter_vector(policy)
    vector[2 * kind : 2 * kind + 2] = value
    single, double = (
        tg.gradient(
            problem,
            with_parameters(policy, vector),
            tg.Estimator("mean", "null"),
            horizon=50,
            episodes=2000,
            seed=0,
            engine=engine,
            precision=precision,
        )
        for precision in ("float32", "float64")
    )
    assert np.all(np.abs(single.mean - double.mean) <= 0.5 * double.standard_error)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: tg.ReshapedThompson(tg.GaussianBandit(noise_std=[1, 2]), shared=True),
            "shared must be false where arms differ: log_precision_ratio",
        ),
        (lambda: tg.ReshapedThompson("a bandit"), "problem must be one that has a reshaping"),
        (
            lambda: ReshapedGaussian(prior_mean=[0, 0], log_prior_variance=0, log_precision_ratio=0, decay=0),
            "all be single numbers or all have one number per arm",
        ),
        (
            lambda: ReshapedGaussian(prior_mean=np.nan, log_prior_variance=0, log_precision_ratio=0, decay=0),
            "prior_mean must be finite, got nan",
        ),
        (
            lambda: tg.simulate(
                tg.GaussianBandit(arms=3), tg.ReshapedThompson(tg.GaussianBandit(arms=2)), horizon=2, episodes=2, seed=0
            ),
            "policy has meta-parameters for 2 arms, the problem has 3",
        ),
        (
            lambda: tg.simulate(
                tg.BernoulliBandit(arms=2),
                tg.ReshapedThompson(tg.GaussianBandit(arms=2)),
                horizon=2,
                episodes=2,
                seed=0,
            ),
            "policy ReshapedGaussian does not reshape BernoulliBandit, ReshapedBernoulli does",
        ),
    ],
)
def test_bad_input(build, message):
    with pytest.raises(tg.BadInput, match=message):
        build()


def test_concentration_leaves_the_mean_of_a_reshaped_beta_law_where_it_is():
    """Late in an episode counts reach their bound, all by the same factor: the tuned mean does not drift away."""
    problem = tg.BernoulliBandit(arms=2, alpha=1.0, beta=1.0)
    policy = ReshapedBernoulli(log_alpha=np.log(0.02), log_beta=0.0, log_evidence_weight=0.0, decay=4.0)
    means = []
    for t in (1, 50, 99, 100):
        law = policy.law(problem, problem.prior(100), None, tg.Context(), Clock(t, 100))
        means.append(float(law.alpha[0] / (law.alpha[0] + law.beta[0])))
    np.testing.assert_allclose(means, 0.02 / 1.02, rtol=1e-5)


def test_a_wrong_model_has_the_reshaping_of_its_model():
    wrong = tg.Misspecified(truth=tg.GaussianBandit(arms=2, noise_std=2.0), model=tg.GaussianBandit(arms=2))
    assert type(tg.ReshapedThompson(wrong)) is type(tg.ReshapedThompson(wrong.model))
