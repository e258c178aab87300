"""What information-directed sampling is made of: brute force, quadrature, a fine grid, and beliefs at the edge."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

import tsgrad as tg
from false_alarms import z_bound
from tsgrad.policies.rivals.best_arm import sampled_best_arm
from tsgrad.policies.rivals.best_arm_bernoulli import bernoulli_best_arm, bernoulli_information, beta_grid, beta_row
from tsgrad.policies.rivals.best_arm_gaussian import gaussian_best_arm, gaussian_information
from tsgrad.policies.rivals.information_directed import best_mixture
from tsgrad.problems import ArmMoments, BetaArm, Context
from tsgrad.streams import Address, Purpose, Stream

pytestmark = pytest.mark.formulas

GAUSSIAN = {  # means, standard deviations, noise
    "alike": ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
    "mixed": ([0.3, 0.0, -0.4, 0.8], [0.5, 1.0, 1.5, 0.3], [0.5, 1.0, 2.0, 1.0]),
    "one narrow": ([0.5, 0.0, 0.1], [0.03, 1.0, 0.9], [0.1, 4.0, 0.2]),
    "far ahead": ([3.0, 0.0, 0.5], [0.4, 0.6, 0.7], [1.0, 0.5, 10.0]),
}
BERNOULLI = {  # alpha, beta
    "alike": ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
    "mixed": ([3.0, 9.0, 0.7], [2.0, 4.0, 0.4]),
    "narrow": ([40.0, 2.0, 70.0], [30.0, 2.0, 60.0]),
}
DRAWS = 400_000

quantities, informations = jax.jit(gaussian_best_arm), jax.jit(gaussian_information)


def brute_force(draws):
    """Probabilities, shortfalls, variances of many draws [N, K]."""
    best, mean = draws.argmax(axis=1), draws.mean(axis=0)
    groups = [draws[best == arm] for arm in range(draws.shape[1])]
    share = np.array([len(group) for group in groups]) / len(draws)
    moved = np.array([group.mean(axis=0) - mean if len(group) else 0 * mean for group in groups])
    return share, draws.max(axis=1).mean() - mean, share @ moved**2


def gaussian_reference(mean, std):
    """The same by adaptive quadrature of the textbook formulas."""
    laws = [stats.norm(*pair) for pair in zip(mean, std, strict=True)]
    arms = range(len(laws))
    low, high = max(m - 9 * s for m, s in zip(mean, std, strict=True)), max(np.add(mean, np.multiply(9, std)))
    breaks = sorted(
        {point for law in laws for point in law.mean() + law.std() * np.arange(-6, 7) if low < point < high}
    )

    def integral(function):
        ends = [low, *breaks, high]
        return sum(integrate.quad(function, *pair, epsabs=1e-13)[0] for pair in itertools.pairwise(ends))

    def below(x, *but):
        return np.prod([laws[arm].cdf(x) for arm in arms if arm not in but])

    p = np.array([integral(lambda x, i=i: laws[i].pdf(x) * below(x, i)) for i in arms])
    first = np.array([integral(lambda x, i=i: x * laws[i].pdf(x) * below(x, i)) for i in arms])
    v = np.zeros(len(laws))
    for i, j in itertools.product(arms, arms):
        if i == j:
            moved = first[i] / p[i] - mean[j]
        else:
            both = integral(lambda x, i=i, j=j: laws[i].pdf(x) * laws[j].pdf(x) * below(x, i, j))
            moved = -(std[j] ** 2) * both / p[i]
        v[j] += p[i] * moved**2
    return p, first.sum() - np.array(mean), v


@pytest.mark.parametrize(("mean", "std", "_noise"), GAUSSIAN.values(), ids=GAUSSIAN)
def test_gaussian_quantities_against_adaptive_quadrature(mean, std, _noise):
    """In float32, to 1e-4 of the scale of each; variances to 0.5%."""
    found = quantities(ArmMoments(jnp.array(mean), jnp.array(std)))
    expected = gaussian_reference(mean, std)
    np.testing.assert_allclose(found.probability, expected[0], atol=1e-4)
    np.testing.assert_allclose(found.shortfall, expected[1], atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(found.variance, expected[2], rtol=5e-3, atol=1e-7)


@pytest.mark.parametrize(("mean", "std", "_noise"), GAUSSIAN.values(), ids=GAUSSIAN)
def test_gaussian_quantities_against_brute_force(mean, std, _noise):
    """400,000 draws: probabilities and shortfalls within a z-bound of 24 comparisons, variances to 5%."""
    draws = np.random.default_rng(0).normal(mean, std, (DRAWS, len(mean)))
    found = quantities(ArmMoments(jnp.array(mean), jnp.array(std)))
    share, shortfall, variance = brute_force(draws)
    error = np.sqrt(np.maximum(share * (1 - share), 1e-6) / DRAWS)
    assert np.all(np.abs(found.probability - share) < z_bound(24) * error + 2e-4)
    error = np.std(draws.max(axis=1, keepdims=True) - draws, axis=0) / np.sqrt(DRAWS)
    assert np.all(np.abs(found.shortfall - shortfall) < z_bound(24) * error + 2e-4)
    np.testing.assert_allclose(found.variance, variance, rtol=0.05, atol=2e-4)


@pytest.mark.parametrize(("mean", "std", "noise"), GAUSSIAN.values(), ids=GAUSSIAN)
def test_gaussian_information_against_brute_force(mean, std, noise):
    """P(A* = i | a reward) by counting in 60 bins of equal mass: what binning loses is below 3%."""
    rng = np.random.default_rng(1)
    draws = rng.normal(mean, std, (4 * DRAWS, len(mean)))
    best = draws.argmax(axis=1)
    found = informations(ArmMoments(jnp.array(mean), jnp.array(std)), jnp.array(noise))
    for arm in range(len(mean)):
        rewards = draws[:, arm] + noise[arm] * rng.standard_normal(len(draws))
        bins = np.searchsorted(np.quantile(rewards, np.linspace(0, 1, 61)[1:-1]), rewards)
        joint = np.zeros((60, len(mean)))
        np.add.at(joint, (bins, best), 1 / len(draws))
        outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        seen = joint > 0
        counted = np.sum(joint[seen] * np.log(joint[seen] / outer[seen]))
        chance = 60 * len(mean) / 2 / len(draws)  # what counting adds, on average, where there is no information
        assert abs(found[arm] - (counted - chance)) < 0.03 * counted + 4 * chance


def beta_functions(alpha, beta):
    arms = [BetaArm(a, b) for a, b in zip(alpha, beta, strict=True)]
    rows = [beta_row(arm, 1, grid=beta_grid(arms)) for arm in arms]
    now, failure, success = (jnp.array([row[cell] for row in rows]) for cell in (0, 1, 2))
    mean = np.divide(alpha, np.add(alpha, beta))
    return jnp.asarray(mean, now.dtype), now, success, failure


@pytest.mark.parametrize(("alpha", "beta"), BERNOULLI.values(), ids=BERNOULLI)
def test_bernoulli_quantities_against_brute_force(alpha, beta):
    """400,000 draws: probabilities and shortfalls within a z-bound of 18 comparisons, variances to 5%."""
    mean, now, success, _ = beta_functions(alpha, beta)
    found = jax.jit(bernoulli_best_arm)(mean, now, success)
    draws = np.random.default_rng(2).beta(alpha, beta, (DRAWS, len(alpha)))
    share, shortfall, variance = brute_force(draws)
    assert np.all(np.abs(found.probability - share) < z_bound(18) * np.sqrt(share * (1 - share) / DRAWS) + 2e-4)
    error = np.std(draws.max(axis=1, keepdims=True) - draws, axis=0) / np.sqrt(DRAWS)
    assert np.all(np.abs(found.shortfall - shortfall) < z_bound(18) * error + 2e-4)
    np.testing.assert_allclose(found.variance, variance, rtol=0.05, atol=1e-5)


@pytest.mark.parametrize(("alpha", "beta"), [(98.0, 4802.0), (1e6, 1e6), (0.5, 5000.0), (0.001, 0.999)])
def test_probabilities_add_up_however_narrow_the_arms(alpha, beta):
    """Three arms that are alike: one third each. On a grid that knew nothing of them they added up to 0.94."""
    mean, now, success, _ = beta_functions([alpha] * 3, [beta] * 3)
    np.testing.assert_allclose(
        jax.jit(bernoulli_best_arm)(mean, now, success).probability, np.full(3, 1 / 3), rtol=1e-3
    )


@pytest.mark.parametrize(("alpha", "beta"), BERNOULLI.values(), ids=BERNOULLI)
def test_bernoulli_information_against_brute_force(alpha, beta):
    """Each draw counts as both rewards. A mean log-ratio with mean I has variance 2 I: a z-bound of 9, and 0.5%."""
    found = jax.jit(bernoulli_information)(*beta_functions(alpha, beta))
    rng = np.random.default_rng(3)
    draws = rng.beta(alpha, beta, (4 * DRAWS, len(alpha)))
    best = draws.argmax(axis=1)
    for arm in range(len(alpha)):
        chances = [draws[:, arm], 1 - draws[:, arm]]
        joint = np.array([np.bincount(best, chance, minlength=len(alpha)) for chance in chances]) / len(draws)
        counted = np.sum(joint * np.log(joint / (joint.sum(axis=1, keepdims=True) * joint.sum(axis=0))))
        assert abs(found[arm] - counted) < z_bound(9) * np.sqrt(2 * counted / len(draws)) + 0.005 * counted


def test_sampled_quantities_are_those_of_quadrature():
    """512 draws from the same belief: within a z-bound of 9 comparisons, errors from the sample itself."""
    problem = tg.GaussianBandit(prior_mean=[0.3, 0.0, -0.4], prior_std=[0.5, 1.0, 1.5])
    noise = Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.POLICY)
    found = jax.jit(lambda: sampled_best_arm(problem, problem.prior(5), Context(), noise))()
    expected = quantities(problem.arm_moments(problem.prior(5), Context()))
    p = np.asarray(expected.probability)
    assert np.all(np.abs(found.probability - p) < z_bound(9) * np.sqrt(p * (1 - p) / 512))
    assert np.all(np.abs(found.shortfall - expected.shortfall) < z_bound(9) * 1.5 / np.sqrt(512))
    np.testing.assert_allclose(found.variance, expected.variance, rtol=0.5)


def ratio(mixture, shortfall, gain):
    q = float(mixture.probability)
    first, second = int(mixture.first), int(mixture.second)
    lost = q * shortfall[first] + (1 - q) * shortfall[second]
    return lost**2 / (q * gain[first] + (1 - q) * gain[second])


def test_mixture_against_a_fine_grid():
    """200 random cases of 2 to 5 arms, all pairs at 4,001 probabilities, densest at 0 and 1."""
    rng = np.random.default_rng(4)
    grid = special.expit(np.linspace(-20, 20, 4001))
    mixture = jax.jit(functools.partial(best_mixture, context=Context()))
    with jax.enable_x64(True):
        for case in range(200):
            arms = 2 + case % 4
            shortfall, gain = rng.gamma(0.5, size=arms), rng.gamma(0.5, size=arms)
            best = min(
                np.min((grid * shortfall[i] + (1 - grid) * shortfall[j]) ** 2 / (grid * gain[i] + (1 - grid) * gain[j]))
                for i, j in itertools.product(range(arms), range(arms))
            )
            found = ratio(mixture(jnp.array(shortfall), jnp.array(gain)), shortfall, gain)
            assert best * (1 - 1e-3) - 1e-12 <= found <= best * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(
    ("shortfall", "gain", "plays"),
    [
        ([0.0, 1.0], [0.0, 0.0], 0),  # nothing to learn
        ([1.0, 0.5, 2.0], [0.0, 0.0, 0.0], 1),
        ([0.0], [0.0], 0),
        ([1e-30, 1.0], [1e-30, 1e-30], 0),
        ([0.5, 0.5], [0.2, 0.2], 0),
    ],
)
def test_mixture_at_the_edge(shortfall, gain, plays):
    mixture = jax.jit(functools.partial(best_mixture, context=Context()))(jnp.array(shortfall), jnp.array(gain))
    noise = Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.POLICY)
    assert 0 <= mixture.probability <= 1
    assert mixture.play(noise) == plays


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize(
    ("mean", "std"),
    [
        ([0.0, 60.0], [1.0, 1.0]),  # best with probability far below 1e-12
        ([0.0, 9.0, 0.0], [1.0, 1.0, 1e-3]),
        ([0.0, 0.0, 0.0], [1e-4, 1.0, 1e-4]),
        ([5.0], [1.0]),
        ([2.0, 2.0], [1e-6, 1e-6]),
    ],
)
def test_beliefs_at_the_edge(mean, std, scale):
    law = ArmMoments(scale * jnp.array(mean), scale * jnp.array(std))
    best = quantities(law)
    for field in (*best, informations(law, jnp.full(len(mean), scale))):
        assert np.all(np.isfinite(field))
        assert np.all(field >= 0)
    assert abs(float(best.probability.sum()) - 1) < 1e-3
