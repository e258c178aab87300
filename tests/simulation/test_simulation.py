"""Simulation: known regrets, common randomness, and results that don't depend on who computed what."""

import numpy as np
import pytest

import tsgrad as tg

SETTINGS = {
    "standard": (tg.GaussianBandit(arms=10), 500, 20_000, 58.74, 0.04),
    "hetero": (tg.GaussianBandit(noise_std=[0.1, 0.4, 1.0, 4.0, 10.0]), 50, 100_000, 25.914, 0.008),
    "many": (tg.GaussianBandit(arms=20), 20, 100_000, 28.980, 0.005),
}


@pytest.mark.parametrize(("problem", "horizon", "episodes", "known", "error"), SETTINGS.values(), ids=SETTINGS)
def test_plain_thompson_sampling_has_its_known_regret(problem, horizon, episodes, known, error):
    regret = tg.simulate(problem, tg.Thompson(), horizon=horizon, episodes=episodes, seed=0).regret
    assert abs(regret.mean() - known) < 3 * np.hypot(error, regret.std() / np.sqrt(episodes))


def test_heteroscedastic_numbers_are_standard_deviations():
    """With the paper's list read as variances, the regret would be 20.55."""
    problem = tg.GaussianBandit(noise_std=np.sqrt([0.1, 0.4, 1.0, 4.0, 10.0]))
    regret = tg.simulate(problem, tg.Thompson(), horizon=50, episodes=50_000, seed=0).regret
    assert abs(regret.mean() - 20.55) < 3 * np.hypot(0.02, regret.std() / np.sqrt(regret.size))


def test_summaries_are_those_of_the_trajectories():
    problem = tg.GaussianBandit(arms=4)
    result = tg.simulate(problem, tg.Thompson(), horizon=7, episodes=300, seed=1, trajectories=True)
    np.testing.assert_allclose(result.reward, result.trajectories.reward.sum(axis=1), rtol=1e-5)
    counts = (result.trajectories.arm[..., None] == np.arange(4)).sum(axis=(0, 1)) / 300
    np.testing.assert_allclose(result.pulls, counts)
    np.testing.assert_allclose(result.regret_over_time[-1], result.regret.mean(), rtol=1e-5)
    assert np.all(np.diff(result.regret_over_time) >= 0)


def test_every_policy_sees_the_same_instance():
    """Whatever is played, and when: the first play of an arm pays the same to two policies, and so does every other."""
    problem = tg.GaussianBandit(arms=2, prior_mean=[0, 1])
    runs = [
        tg.simulate(problem, policy, horizon=6, episodes=500, seed=2, trajectories=True).trajectories
        for policy in (tg.Thompson(), tg.ReshapedThompson(tg.GaussianBandit(arms=2, prior_mean=[1, 0])))
    ]
    assert 0.2 < (runs[0].arm == runs[1].arm).mean() < 0.9
    shared = 0
    for arm in range(2):
        for episode in range(500):
            first, second = (run.reward[episode][run.arm[episode] == arm] for run in runs)
            both = min(len(first), len(second))
            np.testing.assert_array_equal(first[:both], second[:both])
            shared += both
    assert shared > 1000


@pytest.mark.formulas
def test_users_with_features_have_one_reward_of_each_arm():
    """There the reward belongs to the user: who sees the same user and plays the same arm gets the same."""
    problem = tg.LinearBandit(features=tg.GaussianContexts(arms=3, dimension=2))
    runs = [
        tg.simulate(problem, policy, horizon=6, episodes=200, seed=2, trajectories=True).trajectories
        for policy in (tg.Thompson(), tg.Greedy())
    ]
    same = runs[0].arm == runs[1].arm
    assert 0.2 < same.mean() < 0.9
    np.testing.assert_array_equal(runs[0].reward[same], runs[1].reward[same])


def test_more_episodes_begin_with_the_same_ones():
    problem = tg.GaussianBandit(arms=3)
    few, many = (tg.simulate(problem, tg.Thompson(), horizon=5, episodes=n, seed=3).regret for n in (300, 1000))
    np.testing.assert_array_equal(few, many[:300])


@pytest.mark.formulas
@pytest.mark.quick("gaussian")
@pytest.mark.parametrize(
    "problem", [tg.GaussianBandit(arms=3), tg.BernoulliBandit(arms=3)], ids=["gaussian", "bernoulli"]
)
def test_chunks_change_nothing(problem):
    policy = tg.ReshapedThompson(problem)
    options = {"horizon": 6, "episodes": 1500, "seed": 4, "engine": "jax"}
    gradients = [
        tg.gradient(problem, policy, tg.Estimator("mean", "self"), chunk=chunk, **options) for chunk in (1, 2, 9)
    ]
    simulations = [tg.simulate(problem, policy, chunk=chunk, **options) for chunk in (1, 2, 9)]
    for other in gradients[1:]:
        np.testing.assert_array_equal(other.mean, gradients[0].mean)
        np.testing.assert_array_equal(other.standard_error, gradients[0].standard_error)
    for other in simulations[1:]:
        np.testing.assert_array_equal(other.regret, simulations[0].regret)


@pytest.mark.long
def test_float32_is_close_to_float64():
    """The same episodes: few part ways at a near-tie, and the gradient moves by a small part of its error."""
    problem = tg.GaussianBandit(arms=10)
    policy, options = tg.ReshapedThompson(problem), {"horizon": 100, "episodes": 1000, "seed": 5, "engine": "jax"}
    arms = [
        tg.simulate(problem, policy, trajectories=True, precision=precision, **options).trajectories.arm
        for precision in ("float32", "float64")
    ]
    assert np.any(arms[0] != arms[1], axis=1).mean() < 0.01
    single, double = (
        tg.gradient(problem, policy, tg.Estimator("mean", "oracle"), precision=precision, **options)
        for precision in ("float32", "float64")
    )
    assert np.max(np.abs(single.mean - double.mean) / double.standard_error) < 0.05


def test_standard_errors_are_honest():
    """The spread of 40 independent gradients is what one of them says it is: chi-square, 1 false alarm in 1,000."""
    from scipy import stats

    problem = tg.GaussianBandit(arms=2)
    policy = tg.ReshapedThompson(problem, shared=True)
    found = [
        tg.gradient(problem, policy, tg.Estimator("mean", "self"), horizon=4, episodes=500, seed=seed)
        for seed in range(40)
    ]
    spread = np.var([one.mean for one in found], axis=0, ddof=1)
    claimed = np.mean([one.standard_error**2 for one in found], axis=0)
    low, high = stats.chi2.ppf([0.0005 / 4, 1 - 0.0005 / 4], 39) / 39
    assert np.all((spread / claimed > low) & (spread / claimed < high))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 0}, "horizon must be an integer from 1 to 2147483647, got 0"),
        ({"horizon": 2.5}, "horizon must be an integer from 1 to 2147483647, got 2.5"),
        ({"episodes": 0}, "episodes must be an integer from 1 to"),
        ({"seed": -3}, "seed must be an integer from 0"),
        ({"chunk": 0}, "chunk must be an integer >= 1, got 0"),
        ({"precision": "float16"}, "precision must be one of float32, float64, got 'float16'"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(tg.BadInput, match=message):
        tg.simulate(tg.GaussianBandit(arms=2), tg.Thompson(), **{"horizon": 2, "episodes": 3, "seed": 0, **options})
