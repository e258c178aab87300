"""What is expected of a draw below or above a threshold, against derivatives of distribution functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import logit

from tsgrad.laws import BetaLaw, GammaLaw, NormalGammaLaw, NormalLaw
from tsgrad.laws.normal import hazard

pytestmark = pytest.mark.formulas

CASES = {
    "beta": (BetaLaw, [2.5, 7.0], logit, lambda a, b: stats.beta(a, b)),
    "wide beta": (BetaLaw, [0.4, 0.3], logit, lambda a, b: stats.beta(a, b)),
    "narrow beta": (BetaLaw, [900.0, 3000.0], logit, lambda a, b: stats.beta(a, b)),
    "gamma": (GammaLaw, [3.0, 2.0], np.log, lambda a, b: stats.gamma(a, scale=1 / b)),
    "skewed gamma": (GammaLaw, [0.3, 5.0], np.log, lambda a, b: stats.gamma(a, scale=1 / b)),
    "normal": (NormalLaw, [0.7, 0.2], lambda x: x, lambda m, s: stats.norm(m, s)),
    "student": (
        NormalGammaLaw,
        [0.5, 2.0, 1.7, 3.0],
        lambda x: x,
        lambda m, w, a, b: stats.t(2 * a, m, np.sqrt(b / (a * w))),
    ),
}


def _slopes(function, at):
    """Derivatives by central differences, extrapolated: right to ten digits or so."""
    found = []
    for index, value in enumerate(at):
        steps = [1e-3 * value, 0.5e-3 * value]
        difference = []
        for step in steps:
            up, down = list(at), list(at)
            up[index] += step
            down[index] -= step
            difference.append((function(up) - function(down)) / (2 * step))
        found.append((4 * difference[1] - difference[0]) / 3)
    return np.array(found)


def _scores(law, parameters, thresholds, below, dtype):
    """The expected score at each threshold [C, n], C the number of the law's parameters."""
    with jax.enable_x64(dtype == jnp.float64):

        def expected(parameters):
            made = law(*(jnp.broadcast_to(value, thresholds.shape) for value in parameters))
            return made.expected_log_prob(jnp.asarray(thresholds, dtype), jnp.full(thresholds.shape, below))

        return np.array(jax.jit(jax.jacobian(expected))([jnp.asarray(value, dtype) for value in parameters]))


@pytest.mark.parametrize("case", CASES)
def test_expected_scores_are_derivatives_of_log_distribution_functions(case):
    law, parameters, rank, reference = CASES[case]
    thresholds = reference(*parameters).ppf(np.array([1e-9, 1e-3, 0.3, 0.9, 1 - 1e-5]))
    for below, log_chance in ((True, "logcdf"), (False, "logsf")):
        found = _scores(law, parameters, rank(thresholds), below, jnp.float64)
        exact = _slopes(lambda parameters, of=log_chance: getattr(reference(*parameters), of)(thresholds), parameters)
        np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-7 * np.max(np.abs(exact)))


@pytest.mark.parametrize("case", CASES)
def test_expected_scores_keep_their_digits_in_float32(case):
    law, parameters, rank, reference = CASES[case]
    thresholds = rank(reference(*parameters).ppf(np.array([1e-6, 1e-2, 0.5, 0.99, 1 - 1e-4])))
    for below in (True, False):
        exact, found = (_scores(law, parameters, thresholds, below, dtype) for dtype in (jnp.float64, jnp.float32))
        # An error is small beside the spread of the score, which is what gradients are made of.
        scale = np.sqrt(np.mean(exact**2, axis=1, keepdims=True)) + 0 * exact
        np.testing.assert_array_less(np.abs(found - exact), 2e-4 * scale)


def test_mills_ratio_far_into_the_tails():
    x = np.linspace(-30, 30, 241)
    exact = np.exp(stats.norm.logpdf(x) - stats.norm.logsf(x))
    found = np.asarray(hazard(jnp.asarray(x, jnp.float32)), np.float64)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1.2e-38)  # below is nothing that float32 can hold


@pytest.mark.parametrize("case", CASES)
def test_nothing_to_compare_with_says_nothing(case):
    law, parameters, _, _ = CASES[case]
    for threshold, below in ((np.inf, True), (-np.inf, False)):
        found = _scores(law, parameters, np.array([threshold]), below, jnp.float64)
        np.testing.assert_allclose(found, 0.0, atol=1e-6)
