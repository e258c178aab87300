"""Rivals of conditions against slow, independent computations on tiny cases."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import tsgrad as tg
from tsgrad.policies.rivals.planned_shares import expected_best
from tsgrad.problems import ArmMoments
from tsgrad.problems.gaussian import GaussianBelief

PROBLEM = tg.GaussianBandit(arms=3, noise_std=[0.5, 1.0, 2.0])
BELIEF = GaussianBelief(jnp.array([4.0, 2.0, 1.0]), jnp.array([2.0, 1.5, -0.5]))
EVERYONE = tg.Context()


def moments():
    """Posterior means and standard deviations, written out."""
    precision = 1 + np.array([4.0, 2.0, 1.0]) / np.array([0.25, 1.0, 4.0])
    return np.array([2.0, 1.5, -0.5]) / np.array([0.25, 1.0, 4.0]) / precision, precision**-0.5


def shares(policy, t, users, context=EVERYONE):
    return np.asarray(policy.shares(PROBLEM, BELIEF, None, context, tg.Clock(t, users)))


def test_a_b_tests_give_every_arm_the_same():
    np.testing.assert_allclose(shares(tg.ABTest(), 1, 10), 1 / 3)
    there = tg.Context(available=jnp.array([True, False, True]))
    np.testing.assert_allclose(shares(tg.ABTest(), 1, 10, there), [0.5, 0, 0.5])


def test_explore_then_commit_commits_to_the_largest_mean():
    policy = tg.ExploreThenCommit(users=40)
    np.testing.assert_allclose(shares(policy, 40, 100), 1 / 3)
    np.testing.assert_array_equal(shares(policy, 41, 100), np.eye(3)[moments()[0].argmax()])


def test_explore_then_commit_takes_the_length_that_earns_most():
    tried = {}

    def reward_of(policy):
        tried[float(policy.users)] = -abs(float(policy.users) - 31)
        return tried[float(policy.users)]

    found = tg.ExploreThenCommit().plan(PROBLEM, tg.Experiment(np.full(8, 10), 0, reward_of))
    assert sorted(tried) == [10.0 * step for step in range(1, 9)]
    assert float(found.users) == 30


@pytest.mark.parametrize("width", [0.3, 1.0, 3.0])
def test_successive_elimination_keeps_what_may_be_the_best(width):
    mean, std = moments()
    kept = [mean[arm] + width * std[arm] >= max(mean - width * std) for arm in range(3)]
    np.testing.assert_allclose(shares(tg.SuccessiveElimination(width=width), 1, 10), np.array(kept) / sum(kept))


def best_mean(spread, users, noise_variance):
    """E max of two posterior means after so many users of each, by quadrature over the first."""
    mean, std = np.array([0.3, 0.0]), np.array([1.0, 1.5])
    number = users * np.asarray(spread)
    step = std * np.sqrt(number / (number + noise_variance / std**2))

    def integrand(x):
        z = (x - mean[1]) / max(step[1], 1e-12)
        excess = step[1] * stats.norm.pdf(z) + (mean[1] - x) * stats.norm.sf(z)  # E max(x, second) - x
        return (x + excess) * stats.norm.pdf(x, mean[0], step[0])

    low, high = mean[0] - 9 * step[0], mean[0] + 9 * step[0]
    return integrate.quad(integrand, low, high, points=[mean[1]], limit=200)[0]


def test_planned_shares_are_those_of_a_grid():
    """Two arms, 8 users now and 30 later: the objective at the planned share is within 1% of the best of a grid, by
    quadrature, in units of what planning can gain at all, though the policy averages over 128 fixed draws.
    """
    noise = np.array([1.0, 2.0])
    problem = tg.GaussianBandit(prior_mean=[0.3, 0.0], prior_std=[1.0, 1.5], noise_std=np.sqrt(noise))
    nothing = problem.prior(38)
    batch = tg.BatchKnowledgeGradient(sizes=[8, 30])
    horizon = tg.ResidualHorizon(after=60)
    for policy, users, now, later in ((batch, 8, 8, 30), (horizon, 38, 38, 60)):
        found = float(policy.shares(problem, nothing, None, EVERYONE, tg.Clock(1, 38))[0])

        def worth(share, users=users, now=now, later=later):
            return now * 0.3 * share + later * best_mean((share, 1 - share), users, noise)

        grid = np.array([worth(share) for share in np.linspace(0.01, 0.99, 50)])
        assert worth(np.clip(found, 0.001, 0.999)) > grid.max() - 0.01 * (grid.max() - grid.min()) - 0.01


def test_residual_horizon_solves_the_problem_of_its_paper():
    """Che and Namkoong's objective, with so many users after the end that nothing else counts: E max of the means after
    all users left are spread in constant shares, an arm's variance falling from v to 1 / (1 / v + n / noise). By
    quadrature over every composition of twentieths; the shares found lose less than 2% of what the best gain over
    the worst.
    """
    mean, std = moments()
    noise, users = np.array([0.25, 1.0, 4.0]), 12

    def worth(spread):
        later = 1 / (1 / std**2 + users * np.asarray(spread) / noise)
        step = np.sqrt(np.maximum(std**2 - later, 1e-18))[:, None]
        x = np.linspace(-6, 8, 4001)
        below = np.prod(stats.norm.cdf((x - mean[:, None]) / step), axis=0)
        return 8 - np.trapezoid(below, x)

    found = shares(tg.ResidualHorizon(after=1e9), 9, 20)  # 12 users left
    parts = [(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)]
    every = np.array([worth(np.array(part) / 20) for part in parts])
    assert worth(found) > every.max() - 0.02 * np.ptp(every)


def test_the_expected_best_mean_is_that_of_quadrature():
    """Over 128 draws that come in pairs: to 0.1 standard deviations."""
    found = expected_best(
        jnp.array([0.5, 0.5]),
        ArmMoments(jnp.array([0.3, 0.0]), jnp.array([1.0, 1.5])),
        jnp.array([1.0, 2.0 / 2.25]),
        8.0,
        EVERYONE,
    )
    assert abs(float(found) - best_mean((0.5, 0.5), 8, np.array([1.0, 2.0]))) < 0.1


@pytest.mark.long
@pytest.mark.formulas
def test_planners_know_the_experiment():
    conditions = tg.Conditions(batch=[3, 2], after=4)
    for policy in (tg.BatchKnowledgeGradient(), tg.ResidualHorizon()):
        found = tg.simulate(PROBLEM, policy, horizon=2, episodes=4, seed=0, conditions=conditions)
        assert found.pulls.sum() == 5


def test_shares_are_asked_for_only_once_planned():
    for policy, word in ((tg.ExploreThenCommit(), "users"), (tg.BatchKnowledgeGradient(), "sizes")):
        with pytest.raises(tg.BadInput, match=f"{word} must be given"):
            shares(policy, 1, 10)


def test_single_users_are_given_arms_by_their_shares():
    """An arm without a share is never played: 200 users, two of three arms."""
    there = tg.Context(available=jnp.array([True, False, True]))
    noise = tg.Address.of(seed=0, purpose=tg.Purpose.EVALUATION).noise(tg.Stream.POLICY)

    def one(t):
        return tg.ABTest().act(PROBLEM, BELIEF, None, there, tg.Clock(1, 10), noise.step(t))

    arms = np.asarray(jax.vmap(one)(jnp.arange(1, 201)))
    assert set(arms) == {0, 2}
    assert all(60 < np.sum(arms == arm) < 140 for arm in (0, 2))  # 5.6 standard deviations
    assert len(list(itertools.groupby(arms))) > 60


def test_greedy_needs_no_table_for_long_horizons():
    """140,000 users: a table over successes and failures would take 73 GB."""
    assert isinstance(tg.Greedy().prepare(tg.BernoulliBandit(arms=3), 140_000), tg.Greedy)
    assert not isinstance(tg.Greedy().prepare(tg.BernoulliBandit(arms=3), 140), tg.Greedy)
