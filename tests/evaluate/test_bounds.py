"""Bounds: the exact optimum, expected largest means, the relaxed policies, and no policy below any of them."""

import functools
import itertools

import numpy as np
import pytest
from scipy import stats

import tsgrad as tg
from false_alarms import z_bound
from tsgrad.cli.policies import named_policy
from tsgrad.evaluate import optimal_regret
from tsgrad.evaluate.bounds import cheap_bound
from tsgrad.evaluate.optimum import optimal_reward
from tsgrad.evaluate.relaxation import best_counts_reward, deviations, futures
from tsgrad.laws import NormalLaw
from tsgrad.problems.gaussian import GaussianBelief
from tsgrad.registry import kinds
from tsgrad.simulation import Workload

STANDARD = tg.GaussianBandit(arms=10), 500
HETERO = tg.GaussianBandit(noise_std=[0.1, 0.4, 1.0, 4.0, 10.0]), 50
MANY = tg.GaussianBandit(arms=20), 20


class OtherGaussian(tg.IndependentArms):
    """The Gaussian bandit as a user would write it: bounds know nothing of its laws."""

    inner: tg.GaussianBandit

    @property
    def arms(self):
        return self.inner.arms

    def draw_world(self, noise):
        return self.inner.draw_world(noise)

    def means(self, world, context):
        return self.inner.means(world, context)

    def reward(self, world, context, arm, noise):
        return self.inner.reward(world, context, arm, noise)

    def prior(self, horizon):
        return self.inner.prior(horizon)

    def evidence(self, rewards) -> GaussianBelief:
        return self.inner.evidence(rewards)

    def posterior(self, belief) -> NormalLaw:
        return self.inner.posterior(belief)

    def arm_moments(self, belief, context):
        return self.inner.arm_moments(belief, context)

    def strength(self, belief, context):
        return self.inner.strength(belief, context)


def enumerated_reward(problem, horizon):
    """The Bayes-optimal reward, by recursion over every history, whatever the number of arms."""

    @functools.cache
    def value(left, successes, failures):
        if not left:
            return 0.0
        worth = []
        for arm in range(problem.arms):
            alpha, beta = problem.alpha[arm] + successes[arm], problem.beta[arm] + failures[arm]
            more = tuple(np.eye(problem.arms, dtype=int)[arm])
            won = value(left - 1, tuple(map(sum, zip(successes, more, strict=True))), failures)
            lost = value(left - 1, successes, tuple(map(sum, zip(failures, more, strict=True))))
            worth.append((alpha * (1 + won) + beta * lost) / (alpha + beta))
        return max(worth)

    return value(horizon, (0,) * problem.arms, (0,) * problem.arms)


@pytest.mark.parametrize(("horizon", "regret"), [(10, 0.6449), (50, 1.3366)])
def test_check_values_of_the_optimum(horizon, regret):
    assert abs(optimal_regret(tg.BernoulliBandit(arms=2), horizon=horizon) - regret) < 1e-4


@pytest.mark.parametrize("horizon", [1, 2, 5, 8])
@pytest.mark.parametrize(
    "problem",
    [tg.BernoulliBandit(arms=2), tg.BernoulliBandit(alpha=[0.3, 4.0], beta=[0.1, 2.5])],
    ids=["uniform", "uneven"],
)
def test_the_optimum_against_enumeration(problem, horizon):
    assert optimal_reward(problem.tabled_arms(), horizon=horizon) == pytest.approx(
        enumerated_reward(problem, horizon), rel=1e-12
    )


def test_the_optimum_at_its_longest():
    """It grows with the horizon, by less and less, and stays below what Thompson sampling loses."""
    problem = tg.BernoulliBandit(alpha=[1e-3, 30.0], beta=[1e-3, 1.0])
    regrets = [optimal_regret(problem, horizon=horizon) for horizon in (98, 99, 100)]
    assert regrets[0] < regrets[1] < regrets[2]
    assert regrets[2] - regrets[1] < regrets[1] - regrets[0]


def test_expected_largest_means_against_closed_forms():
    assert tg.GaussianBandit(arms=3).expected_best_mean() == pytest.approx(1.5 / np.sqrt(np.pi), abs=1e-10)
    assert tg.GaussianBandit(arms=1, prior_mean=-3.0).expected_best_mean() == pytest.approx(-3.0, abs=1e-10)
    two = tg.GaussianBandit(prior_mean=[0.0, 3.0], prior_std=[0.01, 20.0])  # Clark (1961)
    spread = np.hypot(0.01, 20.0)
    clark = 3 * stats.norm.cdf(3 / spread) + spread * stats.norm.pdf(3 / spread)
    assert two.expected_best_mean() == pytest.approx(clark, abs=1e-9)
    apart = tg.GaussianBandit(prior_mean=[0.0, 9.0], prior_std=[2.0, 1e-6])  # far narrower than what is integrated over
    assert apart.expected_best_mean() - 9 == pytest.approx(
        2 * (stats.norm.pdf(4.5) - 4.5 * stats.norm.sf(4.5)), abs=1e-9
    )
    assert tg.BernoulliBandit(arms=7).expected_best_mean() == pytest.approx(7 / 8, abs=1e-10)
    assert tg.BernoulliBandit(alpha=[2.0, 1.0], beta=1.0).expected_best_mean() == pytest.approx(3 / 4, abs=1e-10)
    sharp = tg.BernoulliBandit(alpha=[1e9, 1.0], beta=[1e9, 1.0])  # all but 1/2, and uniform: 1/2 + E(U - 1/2)^+
    assert sharp.expected_best_mean() == pytest.approx(0.625, abs=1e-8)
    coin = tg.BernoulliBandit(alpha=1e-4, beta=1e-4, arms=2)  # all but 0 or 1
    assert coin.expected_best_mean() == pytest.approx(0.75, abs=1e-4)


def test_expected_largest_means_of_very_different_arms():
    """Against Clark's formula for two Gaussian arms; and more is known later, and most in the end."""
    generator = np.random.default_rng(7)
    for _ in range(40):
        mean, deviation = generator.normal(size=2), 10 ** generator.uniform(-6, 4, size=2)
        spread, gap = np.hypot(*deviation), mean[0] - mean[1]
        clark = mean[1] + gap * stats.norm.cdf(gap / spread) + spread * stats.norm.pdf(gap / spread)
        problem = tg.GaussianBandit(prior_mean=mean, prior_std=deviation)
        assert problem.expected_best_mean() == pytest.approx(clark, abs=1e-11 * (1 + deviation.max()))
        alpha, beta = 10 ** generator.uniform(-4, 9, size=(2, 4))
        coins = tg.BernoulliBandit(alpha=alpha, beta=beta)
        later = [coins.expected_best_mean(pulls) for pulls in (0, 1, 30)] + [coins.expected_best_mean()]
        assert later[0] == pytest.approx(np.max(alpha / (alpha + beta)))
        assert np.all(np.diff(later) > -1e-9)


def test_expected_largest_posterior_means_against_enumeration():
    problem = tg.BernoulliBandit(alpha=[0.5, 3.0, 1.0], beta=[0.5, 2.0, 1.0])
    laws = [stats.betabinom(4, a, b) for a, b in zip(problem.alpha, problem.beta, strict=True)]
    total = 0.0
    for successes in itertools.product(range(5), repeat=3):
        chance = np.prod([law.pmf(s) for law, s in zip(laws, successes, strict=True)])
        total += chance * np.max((problem.alpha + successes) / (problem.alpha + problem.beta + 4))
    assert problem.expected_best_mean(4) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize(("arms", "horizon"), [(1, 4), (2, 5), (3, 5), (4, 3)])
def test_the_best_counts_against_enumeration(arms, horizon):
    means = np.random.default_rng(arms).normal(size=(20, horizon, arms))  # far from concave sums
    sums = np.concatenate([np.zeros((20, 1, arms)), np.cumsum(means, axis=1)], axis=1)
    rewards = [
        sum(sums[:, count, arm] for arm, count in enumerate(counts))
        for counts in itertools.product(range(horizon + 1), repeat=arms)
        if sum(counts) == horizon
    ]
    np.testing.assert_allclose(best_counts_reward(means), np.max(rewards, axis=0), rtol=1e-12)


@pytest.mark.parametrize(
    "problem",
    [
        tg.GaussianBandit(noise_std=[0.3, 1.0, 5.0]),
        tg.BernoulliBandit(alpha=[0.5, 3.0, 1.0], beta=[0.5, 2.0, 1.0]),
    ],
    ids=["gaussian", "bernoulli"],
)
def test_controls_have_mean_zero(problem):
    """Four comparisons: 1 false alarm in 1,000."""
    workload = Workload(horizon=20, episodes=8192, seed=1, purpose=tg.Purpose.EVALUATION, precision="float64")
    means = np.concatenate([block for _, block in futures(problem, workload)])
    finite_horizon = means[:, -1].max(axis=1) - problem.expected_best_mean(19)
    for control in (finite_horizon, deviations(means, problem.prior_strength)):
        assert abs(control.mean()) < z_bound(4) * control.std() / np.sqrt(8192)


@pytest.mark.parametrize(
    ("setting", "regret", "error"),
    [(STANDARD, 9.0, 0.6), (HETERO, 10.5, 0.15), (MANY, 5.41, 0.04)],
    ids=["standard", "hetero", "many"],
)
def test_v_zero_against_values_found_before(setting, regret, error):
    """3 standard errors of both together: a false alarm in 120."""
    problem, horizon = setting
    found = tg.regret_bound(problem, horizon=horizon, kind="V-Zero", episodes=1024)
    assert abs(found.regret - regret) < 3 * np.hypot(found.standard_error, error)


def test_controls_sharpen_v_zero_and_leave_it_where_it_is():
    """One comparison, 1 false alarm in 1,000; the same episodes, so that the plain error bounds the difference."""
    problem = tg.GaussianBandit(arms=3)
    sharp, plain = (
        tg.regret_bound(one, horizon=20, kind="V-Zero", episodes=4096) for one in (problem, OtherGaussian(problem))
    )
    assert sharp.standard_error < 0.4 * plain.standard_error
    assert abs(sharp.regret - plain.regret) < z_bound(1) * plain.standard_error
    exact, sampled = (
        tg.regret_bound(one, horizon=20, kind="FH", episodes=4096) for one in (problem, OtherGaussian(problem))
    )
    assert exact.standard_error == 0
    assert abs(exact.regret - sampled.regret) < z_bound(1) * sampled.standard_error


BOUNDED = {
    "gaussian": (tg.GaussianBandit(arms=3), 20),
    "uneven": (
        tg.GaussianBandit(prior_mean=[0.0, 1.0, 1.5], prior_std=[2.0, 0.1, 1e-3], noise_std=[3.0, 0.2, 1.0]),
        20,
    ),
    "hetero": HETERO,
    "many": MANY,
    "bernoulli": (tg.BernoulliBandit(arms=2), 50),
    "biased coins": (tg.BernoulliBandit(alpha=[0.3, 4.0, 1.0], beta=[0.1, 2.5, 9.0]), 20),
    "wrong model": (
        tg.Misspecified(truth=tg.GaussianBandit(arms=3, noise_std=3.0), model=tg.GaussianBandit(arms=3)),
        20,
    ),
    "one step": (tg.GaussianBandit(arms=3), 1),
    "one arm": (tg.GaussianBandit(arms=1), 10),
}


@pytest.mark.parametrize("setting", BOUNDED)
def test_no_policy_is_below_a_bound(setting):
    """Bounds grow from kind to kind, and none exceeds the regret of a policy by 3 standard errors."""
    problem, horizon = BOUNDED[setting]
    policies = {"thompson": tg.Thompson()}
    if isinstance(problem, tg.GaussianBandit):
        policies["greedy"] = tg.IndexPolicy(table=np.zeros((1, horizon, horizon)))
    kinds = ["perfect", "FH", "V-Zero"] + ["optimum"] * (setting == "bernoulli")
    bounds = [tg.regret_bound(problem, horizon=horizon, kind=kind, seed=2) for kind in kinds]
    for weaker, tighter in itertools.pairwise(bounds):
        assert weaker.regret <= tighter.regret + 3 * np.hypot(weaker.standard_error, tighter.standard_error) + 1e-9
    for policy in policies.values():
        lost = tg.simulate(problem, policy, horizon=horizon, episodes=20_000, seed=2).regret
        error = lost.std() / np.sqrt(len(lost))
        for bound in bounds:
            assert bound.regret <= lost.mean() + 3 * np.hypot(bound.standard_error, error) + 1e-9


@pytest.mark.long
def test_no_policy_beats_the_optimum_of_two_coins():
    """Every policy that the command line can name and that takes this problem; 3 standard errors."""
    problem, horizon = tg.BernoulliBandit(arms=2), 10
    played = 0
    named_policy("thompson")  # from here on all of them are known
    for kind in kinds(tg.Policy):
        try:
            lost = tg.simulate(problem, named_policy(kind), horizon=horizon, episodes=5120, seed=6).regret
        except tg.BadInput:
            continue
        played += 1
        error = lost.std() / np.sqrt(len(lost))
        assert lost.mean() > optimal_regret(problem, horizon=horizon) - 3 * error, kind
    assert played >= 1


def test_the_same_seed_is_the_same_bound_and_another_is_not():
    where = {"horizon": 20, "kind": "V-Zero"}
    first, again, other = (tg.regret_bound(MANY[0], seed=seed, **where) for seed in (3, 3, 4))
    assert first == again
    assert first.regret != other.regret


def test_the_cheap_bound():
    assert cheap_bound(tg.BernoulliBandit(arms=2), horizon=100).kind == "optimum"
    assert cheap_bound(tg.BernoulliBandit(arms=3), horizon=20).kind == "V-Zero"
    assert cheap_bound(tg.GaussianBandit(arms=10), horizon=100_000).kind == "FH"
    assert cheap_bound(OtherGaussian(tg.GaussianBandit(arms=10)), horizon=100_000) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"kind": "v-zero"},
            r"kind must be one of perfect, FH, V-Zero, optimum, got 'v-zero' \(did you mean 'V-Zero'\?\)",
        ),
        ({"horizon": 0}, "horizon must be an integer >= 1, got 0"),
        ({"episodes": 511}, "episodes must be an integer >= 512, got 511"),
        ({"kind": "optimum"}, "BernoulliBandit with 2 arms for its exact optimum, got GaussianBandit with 20 arms"),
        ({"seed": -1}, "seed must be an integer from 0"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(tg.BadInput, match=message):
        tg.regret_bound(MANY[0], **{"horizon": 5, **options})


def test_the_optimum_has_a_longest_horizon():
    with pytest.raises(tg.BadInput, match="horizon must be an integer from 1 to 100, got 101"):
        tg.regret_bound(tg.BernoulliBandit(arms=2), horizon=101, kind="optimum")
