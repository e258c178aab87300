"""Propensities: quadrature against closed forms and against other quadrature, for every law with independent arms."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from tsgrad_runtime import Agent, BadInput
from tsgrad_runtime.artefact import artefact_of
from tsgrad_runtime.laws import BetaLaw, GammaLaw, NormalGammaLaw, NormalLaw
from tsgrad_runtime.models import Gaussian
from tsgrad_runtime.policies import Scene
from tsgrad_runtime.policies.relaxation import RelaxationSampling
from tsgrad_runtime.policies.rivals import TopTwoThompson
from tsgrad_runtime.shares import log_tail_chances, product_shares, sampled_shares
from tsgrad_runtime.streams import Noise, Purpose, Stream


def test_two_normal_arms_have_the_closed_form():
    generator = np.random.default_rng(0)
    for _ in range(50):
        location, scale = generator.normal(size=2), 10 ** generator.uniform(-4, 2, 2)
        chance = special.ndtr((location[0] - location[1]) / np.hypot(*scale))
        np.testing.assert_allclose(product_shares(NormalLaw(location, scale), None), [chance, 1 - chance], atol=1e-9)


def beta(generator, arms):
    law = BetaLaw(10 ** generator.uniform(-0.3, 3, (2, arms)))
    return law, lambda k, y: stats.beta.cdf(special.expit(y), law.alpha[k], law.beta[k])


def gamma(generator, arms):
    law = GammaLaw(*10 ** generator.uniform(-0.5, 2, (2, arms)))
    return law, lambda k, y: special.gammainc(law.shape[k], law.rate[k] * np.exp(y))


def student(generator, arms):
    law = NormalGammaLaw(generator.normal(size=arms), *10 ** generator.uniform(-0.3, 2, (3, arms)))
    return law, lambda k, y: stats.t.cdf(y, 2 * law.shape[k], law.location[k], law.scale[k])


@pytest.mark.parametrize("family", [beta, gamma, student])
def test_shares_agree_with_stieltjes_sums(family):
    """p_k = int prod_{j != k} F_j dF_k, by sums over a fine grid, between which it must lie."""
    generator = np.random.default_rng(1)
    for _ in range(2):
        law, cdf = family(generator, 4)
        breaks = law.breaks()
        ends = zip(breaks[:-1].ravel(), breaks[1:].ravel(), strict=True)
        grid = np.unique(np.concatenate([np.linspace(low, high, 120) for low, high in ends]))
        below = np.array([cdf(k, grid) for k in range(4)])
        for k, share in enumerate(product_shares(law, None)):
            others = np.prod(np.delete(below, k, axis=0), axis=0)
            steps = np.diff(below[k])
            lower, upper = others[:-1] @ steps, others[1:] @ steps
            assert lower - 1e-7 <= share <= upper + 1e-7 + below[k][0]
            assert upper - lower < 1e-2
            np.testing.assert_allclose(share, integrate.trapezoid(others, below[k]), atol=1e-5)


def test_an_arm_that_is_certain_has_the_chance_of_the_others_being_worse():
    for scale in (0.0, 1e-320):
        law = NormalLaw(np.array([0.0, 1.0, 0.5]), np.array([scale, 1.0, 1.0]))
        first = special.ndtr(-1.0) * special.ndtr(-0.5)
        second = integrate.quad(lambda x: stats.norm.pdf(x - 1) * special.ndtr(x - 0.5), 0, np.inf)[0]
        np.testing.assert_allclose(product_shares(law, None), [first, second, 1 - first - second], atol=1e-9)


def test_masks_leave_the_others_their_own_race():
    law = NormalLaw(np.array([0.0, 5.0, 1.0]), np.ones(3))
    shares = product_shares(law, np.array([True, False, True]))
    np.testing.assert_allclose(shares, [special.ndtr(-(2**-0.5)), 0, special.ndtr(2**-0.5)], atol=1e-9)
    assert np.array_equal(product_shares(law, np.array([False, False, True])), [0, 0, 1])


def test_sampling_agrees_with_quadrature():
    law = NormalLaw(np.array([0.0, 0.3, -0.2, 0.1]), np.array([1.0, 0.5, 2.0, 0.1]))
    exact = product_shares(law, None)
    drawn = sampled_shares(law, None, np.random.default_rng(0))
    # Four comparisons beyond z = 4.2 together: once in 10,000 such tests.
    assert np.all(np.abs(drawn - exact) < 4.2 * np.sqrt(exact * (1 - exact) / 4096))


def test_no_chance_of_an_arm_that_can_be_played_is_zero():
    """Who weighs by 1 / chance may meet an arm that was played, and that none of 4,096 draws has led to."""
    law = NormalLaw(np.array([0.0, 10.0, 0.0]), np.ones(3))
    shares = sampled_shares(law, np.array([True, True, False]), np.random.default_rng(0))
    assert 0 < shares[0] < 1 / 4096
    assert shares[2] == 0
    assert np.sum(shares) == pytest.approx(1)


@pytest.mark.parametrize("best", [0.0, 2.0, 3.5, 12.0])
def test_shares_of_top_two_sampling_are_how_often_arms_are_played(best):
    """Four arms, the last not available. Where one is nearly sure to be best, the second of the first draw is played
    when all redraws fail. Three shares of 10,000 decisions beyond z = 4.5: once in 40,000 tests.
    """
    model = Gaussian(prior_mean=[best, 0.3, 0.0, 9.0], prior_std=[1.0, 0.5, 1.0, 1.0], noise_std=[1.0] * 4)
    policy, number = TopTwoThompson(), 10_000
    scene = Scene(model, model.prior(), None, None, np.array([True, True, True, False]), 1, 2 * number)
    shares = policy.shares(scene, np.random.default_rng(0))
    noise = Noise.of(seed=0, purpose=Purpose.DEPLOYMENT, stream=Stream.POLICY)
    played = np.bincount([policy.arm(scene, noise, step) for step in range(1, number + 1)], minlength=4) / number
    assert np.all(np.abs(played - shares) <= 4.5 * np.sqrt(shares * (1 - shares) / number))
    only = scene._replace(available=np.arange(4) == 2)
    assert np.array_equal(policy.shares(only, np.random.default_rng(0)), [0, 0, 1, 0])


@pytest.mark.parametrize("penalty", ["V-Zero", "INDEX"])
def test_shares_of_plans_are_how_often_arms_are_played(penalty):
    """Three arms, 128 plans against 200 decisions: 5 standard errors of both together, once in 10^5 tests."""
    model = Gaussian(prior_mean=[0.0, 0.2, 0.0], prior_std=[1.0, 1.0, 0.5], noise_std=[1.0, 2.0, 1.0])
    policy = RelaxationSampling(penalty=penalty)
    policy.prepare(model, 6)
    available = np.array([True, True, False])
    noise = Noise.of(seed=0, purpose=Purpose.DEPLOYMENT, stream=Stream.POLICY)
    for mask in (None, available):
        scene = Scene(model, model.prior(), None, None, mask, 1, 6)
        shares = policy.shares(scene, np.random.default_rng(0))
        arms = [policy.arm(scene, noise, number) for number in range(1, 201)]
        played = np.bincount(arms, minlength=3) / 200
        spread = np.maximum(played * (1 - played), 1 / 200) * (1 / 128 + 1 / 200)
        assert np.all(np.abs(shares - played) < 5 * np.sqrt(spread))
        assert mask is None or shares[2] == played[2] == 0


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (NormalLaw(np.array([8.5e17, 0.0, 0.0]), np.array([0.7, 1.0, 1.0])), [1, 0, 0]),
        (NormalLaw(np.full(3, 1e6), np.full(3, 1e-12)), [1 / 3] * 3),
        (NormalLaw(np.full(2, 1e6), np.array([1.0, 1e-12])), [0.5] * 2),
        (NormalLaw(np.array([1e75, 0.0]), np.full(2, 1e-75)), [1, 0]),
        (NormalLaw(np.array([np.nan, 0.0]), np.ones(2)), [0.5] * 2),
        (NormalLaw(np.array([np.inf, np.inf]), np.ones(2)), [0.5] * 2),
        (GammaLaw(np.array([1e33, 1.0]), np.array([2.0, 1.0])), [1, 0]),
        (BetaLaw(np.array([[1e60, 1e-60], [1e60, 1e60]])), [1, 0]),
    ],
)
def test_chances_are_chances_where_arms_are_narrower_than_numbers_lie_apart(law, expected):
    np.testing.assert_allclose(product_shares(law, None), expected, atol=1e-9)


def test_gamma_arms_of_many_counts_have_the_chances_of_normal_ones():
    """Shapes of 10^14 lost all digits of their densities. A logarithm has the variance 1 / shape, nearly."""
    shape = np.array([1e14, 1e14])
    law = GammaLaw(shape, np.array([1.0, 1 - 1e-7]))
    chance = special.ndtr(-1e-7 / np.sqrt(2 / 1e14))
    np.testing.assert_allclose(product_shares(law, None), [chance, 1 - chance], atol=1e-6)


PROBLEMS = {
    "gaussian": {"prior_mean": [0.0, 1.0], "prior_std": [1.0, 1.0], "noise_std": [1.0, 1.0]},
    "poisson": {"shape": [1.0, 1.0], "rate": [1.0, 1.0]},
    "linear": {
        "features": [[1.0], [-1.0]],
        "prior_mean": [0.0],
        "prior_covariance": [[1.0]],
        "noise_std": [1.0, 1.0],
    },
    "ball": {"prior_mean": [0.0], "prior_covariance": [[1.0]], "noise_std": 1.0},
}


@pytest.mark.parametrize(
    ("kind", "largest", "absurd"),
    [
        ("gaussian", 1e9, [1.7e18, -1e10]),
        ("poisson", 2**53, [1e30, 1e33]),
        ("linear", 1e9, [1e12]),
        ("ball", 1e9, [1e12]),
    ],
)
def test_rewards_that_no_belief_can_hold_are_refused(kind, largest, absurd):
    content = {"policy": {"kind": "thompson"}, "problem": {"kind": kind, **PROBLEMS[kind]}, "horizon": 9}
    agent = Agent(artefact_of(content, "test"), seed=0)
    decision = agent.decide()
    for reward in absurd:
        with pytest.raises(BadInput, match="reward must be"):
            agent.reward(decision.id, reward)
    agent.reward(decision.id, largest)
    following = agent.decide()
    assert following.propensity is None or 0.5 < following.propensity <= 1


def test_tails_far_beyond_what_is_integrated_are_bounded_closely():
    """Of normal arms 10 to 40 deviations away: at most 1% above what scipy says, never below."""
    points = np.array([10.0, -12.0, 20.0, -40.0])
    found = log_tail_chances(NormalLaw(np.zeros(4), np.ones(4)), points)
    exact = stats.norm.logsf(np.abs(points))
    far = np.where(points > 0, found[1], found[0])
    assert np.all(far > exact)
    assert np.all(far < exact + 0.01)
    np.testing.assert_allclose(np.where(points > 0, found[0], found[1]), 0.0, atol=1e-9)
