"""Laws: draws against distributions, densities against scipy, and what float32 must not lose."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

from tsgrad.laws import BetaDraw, BetaLaw, NormalDraw, NormalLaw
from tsgrad.streams import Address, Purpose, Stream


def noise(episode=0):
    return Address.of(seed=1, purpose=Purpose.EVALUATION, episode=episode).noise(Stream.WORLD)


@jax.jit
def beta_draws(alpha, beta):
    """One draw of each; one compilation serves all parameters."""
    return BetaLaw(alpha, beta).sample(noise())


@pytest.mark.parametrize(("alpha", "beta"), [(0.05, 0.2), (0.6, 3.0), (1.0, 1.0), (9.0, 2.5), (4000.0, 3000.0)])
def test_beta_draws(alpha, beta):
    """Kolmogorov-Smirnov on 50,000 draws; p < 1e-4 once in 10,000 seeds. Both logarithms are tested."""
    draw = beta_draws(np.full(50_000, alpha), np.full(50_000, beta))
    np.testing.assert_allclose(np.exp(draw.log_value) + np.exp(draw.log_complement), 1, atol=1e-6)
    law = stats.beta(alpha, beta)
    below = law.cdf(np.exp(np.asarray(draw.log_value, np.float64)))
    above = law.sf(-np.expm1(np.asarray(draw.log_complement, np.float64)))
    # Each logarithm is exact where its own value is small, and that is where it is used.
    small = np.asarray(draw.log_value) < np.asarray(draw.log_complement)
    assert stats.kstest(np.where(small, below, 1 - above), "uniform").pvalue > 1e-4


def test_concentrated_beta_draws_keep_their_spread():
    """At alpha = beta = 10^8 the standard deviation of the logit is 1.4e-4; float32 must show it to 2%."""
    draw = beta_draws(np.full(20_000, 1e8), np.full(20_000, 1e8))
    logit = np.asarray(draw.log_value, np.float64) - np.asarray(draw.log_complement, np.float64)
    assert abs(np.std(logit) / np.sqrt(2e-8) - 1) < 0.02 + 4 / np.sqrt(2 * 20_000)


def test_beta_score_is_finite_where_the_value_rounds_to_one():
    law = BetaLaw(jnp.array([50.0]), jnp.array([0.01]))
    draw = BetaDraw(jnp.array([-1e-20]), jnp.array([-46.0]))
    assert float(draw.value[0]) == 1.0
    score = jax.jit(jax.grad(lambda beta: BetaLaw(law.alpha, beta).log_prob(draw)))(law.beta)
    assert np.isfinite(score).all()


def test_beta_score_is_the_closed_form():
    """Log x - digamma(alpha) + digamma(alpha + beta), in float64, over all sizes of the parameters."""
    sizes = [1e-12, 1e-3, 0.4, 1.0, 30.0, 1e6]
    alpha, beta = (grid.ravel() for grid in np.meshgrid(sizes, sizes))
    with jax.enable_x64(True):
        draw = BetaDraw(jnp.full(alpha.size, -0.3), jnp.full(alpha.size, -1.35))
        score = jax.jit(jax.grad(lambda one: BetaLaw(one, jnp.asarray(beta)).log_prob(draw)))(jnp.asarray(alpha))
    exact = -0.3 - special.digamma(alpha) + special.digamma(alpha + beta)
    np.testing.assert_allclose(score, exact, rtol=1e-6, atol=1e-8)


@jax.jit
@jax.grad
def concentration_scores(log_concentration, alpha, beta, draw):
    scale = jnp.exp(log_concentration)
    return jnp.sum(BetaLaw(alpha * scale, beta * scale).arm_log_prob(draw))


@pytest.mark.quick("1000.0")
@pytest.mark.parametrize("count", [1.0, 1e3, 1e5])
def test_beta_score_has_mean_zero_in_float32(count):
    """Of the concentration, the direction in which alpha's and beta's scores cancel: 400,000 draws, z below 4.

    At counts of 100,000 what rounding leaves is allowed a hundredth of the score's spread.
    """
    alpha, beta = np.full(400_000, count, np.float32), np.full(400_000, 0.7 * count, np.float32)
    draw = beta_draws(alpha, beta)
    scores = np.asarray(concentration_scores(np.zeros_like(alpha), alpha, beta, draw), np.float64)
    rounding = 0.01 * scores.std() if count == 1e5 else 0
    assert abs(scores.mean()) < 4 * scores.std() / np.sqrt(scores.size) + rounding
    if count > 1:  # half a chi-square with one degree of freedom, in the limit
        assert scores.std() == pytest.approx(np.sqrt(1 / 2), rel=0.05)


def test_normal_score_survives_concentration():
    """With scale 1e-12 beside a location of 1, the value alone has lost the residual; the draw has not."""
    law = NormalLaw(jnp.array([1.0]), jnp.array([1e-12]))
    draw = law.sample(noise())
    residual = float(draw.residual[0])

    def log_density(location, scale, draw):
        return NormalLaw(location, scale).log_prob(draw)

    # The draw is an argument, as in training: XLA adds constants to each other, and the residual would be lost.
    of_location, of_scale = jax.jit(jax.grad(log_density, argnums=(0, 1)))(law.location, law.scale, draw)
    np.testing.assert_allclose(of_location[0] * 1e-12, residual, rtol=1e-5)
    np.testing.assert_allclose(of_scale[0] * 1e-12, residual**2 - 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("law", "reference", "at"),
    [
        (lambda: NormalLaw(jnp.array([0.3]), jnp.array([0.7])), stats.norm(0.3, 0.7), NormalDraw.at),
        (lambda: BetaLaw(jnp.array([2.5]), jnp.array([0.8])), stats.beta(2.5, 0.8), BetaDraw.at),
    ],
)
def test_density_and_distribution_function(law, reference, at):
    with jax.enable_x64(True):
        one = law()
        density = jax.jit(lambda x: jnp.exp(one.log_prob(at(jnp.stack([x])))))
        lowest, highest = reference.support()
        for value in (0.05, 0.4, 0.93):
            below, _ = integrate.quad(lambda x: float(density(x)), lowest, value, epsabs=0, epsrel=1e-11)
            np.testing.assert_allclose(density(value), reference.pdf(value), rtol=1e-9)
            np.testing.assert_allclose(below, reference.cdf(value), rtol=1e-9)
            np.testing.assert_allclose(one.log_prob(at(jnp.array([value]))), reference.logpdf(value), rtol=1e-9)
        total, _ = integrate.quad(lambda x: float(density(x)), lowest, highest)
        assert abs(total - 1) < 1e-6
