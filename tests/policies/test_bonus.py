"""The bonus law: where it starts, what it is the law of, and how it is scaled."""

import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg
from exact import bernoulli_gradient, gaussian_gradient
from false_alarms import largest_z, z_bound
from tsgrad.policies import Clock, parameter_names, parameter_vector, prepared, with_parameters

HETERO = tg.GaussianBandit(prior_mean=[0.2, -0.1], prior_std=[1.0, 0.7], noise_std=[0.5, 1.3])
ALIKE = tg.GaussianBandit(arms=3, noise_std=0.5)


def moved(problem, size=0.3, **options):
    policy = tg.BonusThompson(problem, **options)
    vector = parameter_vector(policy)
    return with_parameters(policy, vector + size * np.random.default_rng(3).standard_normal(vector.shape))


def test_terms():
    assert len(parameter_names(tg.BonusThompson(ALIKE))) == 20
    assert len(parameter_names(tg.BonusThompson(HETERO, degree=1))) == 2 * 3  # unequal arms share them too


@pytest.mark.formulas
def test_the_law():
    """By hand, at one belief, with polynomials of degree one."""
    policy = tg.BonusThompson(HETERO, degree=1)
    policy = with_parameters(policy, np.array([0.1, 0.2, 0.3, -0.5, 0.4, 0.6]))
    ready = prepared(policy, HETERO, 10)
    belief = HETERO.update(HETERO.prior(10), tg.Context(), jnp.asarray(0), jnp.asarray(1.0))
    law = ready.law(HETERO, belief, None, tg.Context(), Clock(4, 10))
    prior = HETERO.noise_std**2 / HETERO.prior_std**2
    strength = prior + np.array([1, 0])
    x = 2 * np.log(7) / np.log(10) - 1
    y = 2 * np.log(strength / min(prior)) / np.log((max(prior) + 10) / min(prior)) - 1
    bonus = 0.1 + 0.2 * x + 0.3 * y
    log_spread = -0.5 + 0.4 * x + 0.6 * y
    moments = HETERO.arm_moments(belief, tg.Context())
    np.testing.assert_allclose(law.location, moments.mean + moments.std * bonus, rtol=1e-5)
    np.testing.assert_allclose(law.scale, moments.std * np.exp(log_spread), rtol=1e-5)


def test_an_arm_without_features_takes_part_in_training():
    """Nothing can be learned of it ("do nothing"), and its draws never vary: both scores have the same expectation, and
    neither says anything of that arm. Of 6 differences one is out of bounds by chance once in 1,000 seeds.
    """
    problem = tg.LinearBandit(features=np.array([[0.0, 0.0], [1.0, 0.0], [0.6, 0.8]]))
    policy = tg.BonusThompson(problem, degree=1)
    where = {"horizon": 6, "episodes": 8192}
    drawn, conditional = (
        tg.gradient(problem, policy, tg.Estimator(score=score), seed=seed, **where)
        for seed, score in enumerate(("draw", "conditional"))
    )
    error = np.hypot(drawn.standard_error, conditional.standard_error)
    assert largest_z(drawn.mean, conditional.mean, error) < z_bound(error.size)
    nothing = tg.LinearBandit(features=np.zeros((2, 2)))
    with pytest.raises(tg.BadInput, match="features of zero alone"):
        tg.simulate(nothing, tg.BonusThompson(nothing), horizon=2, episodes=2, seed=0)


@pytest.mark.formulas
def test_a_bonus_ends_below_the_ceiling():
    """By hand: positive ones are shortened by the room above the arm, so that one over it is added; others are not."""
    problem = tg.BernoulliBandit(alpha=[2.2, 1.0, 400.0, 1.0], beta=[0.5, 1.0, 1e-3, 9.0])
    belief = problem.prior(10)
    mean, std = map(np.asarray, problem.arm_moments(belief, tg.Context()))
    certain = np.array([False, False, True, False])  # an arm that can hardly be better stays where it is
    for bonus in (3.0, -1.0):
        policy = tg.policies.Bonus(bonus=[bonus], log_spread=[0.2], ceiling=1.0)
        law = prepared(policy, problem, 10).law(problem, belief, None, tg.Context(), Clock(4, 10))
        lifted = np.asarray(law.location)[~certain] - mean[~certain]
        if bonus > 0:
            assert np.all(law.location <= 1)
            lifted = 1 / (1 / lifted - 1 / (1 - mean[~certain]))
        np.testing.assert_allclose(lifted, bonus * std[~certain], rtol=2e-5)
        np.testing.assert_allclose(law.scale, std * np.exp(0.2), rtol=1e-5)
    assert "ceiling" not in policy.meta_parameters()
    assert not any("ceiling" in name for name in parameter_names(policy))


@pytest.mark.formulas
def test_an_arm_that_leaves_has_the_steps_until_then():
    """Each arm's value is drawn as if all arms had as many steps left as it has."""
    ready, belief = prepared(moved(ALIKE), ALIKE, 10), ALIKE.prior(10)

    def law(clock):
        found = ready.law(ALIKE, belief, None, tg.Context(), clock)
        return np.stack([found.location, found.scale])

    with_schedule = law(Clock(4, 10, jnp.array([7, 3, 0])))
    alone = [law(Clock(11 - left, 10))[:, arm] for arm, left in enumerate((7, 3, 1))]  # none left is as one
    np.testing.assert_allclose(with_schedule, np.stack(alone, axis=1), rtol=1e-6)
    assert len(set(with_schedule[0].tolist())) == 3


@pytest.mark.parametrize("horizon", [1, 2])
def test_gradients_are_exact(horizon):
    """Two estimators, 16 meta-parameters: a false alarm once in 1,000 seeds."""
    policy = prepared(moved(HETERO, degree=2), HETERO, horizon)
    truth = gaussian_gradient(HETERO, policy, horizon)
    for estimator in (tg.Estimator("bayes", "self"), tg.Estimator("mean", "oracle", score="draw")):
        found = tg.gradient(HETERO, policy, estimator, horizon=horizon, episodes=60_000, seed=1)
        assert largest_z(found.mean, truth, found.standard_error) < z_bound(2 * truth.size)


def test_gradients_below_a_ceiling_are_exact():
    """12 meta-parameters, at two steps, on the native engine: a false alarm once in 1,000 seeds."""
    problem = tg.BernoulliBandit(alpha=[1.0, 2.2], beta=[1.0, 0.5])
    draw = np.random.default_rng(5).standard_normal
    policy = tg.policies.Bonus(bonus=1 + draw(6), log_spread=0.3 * draw(6), ceiling=1.0)
    policy = prepared(policy, problem, 2)
    truth = bernoulli_gradient(problem, policy, 2)
    found = tg.gradient(problem, policy, tg.Estimator("bayes", "self"), horizon=2, episodes=60_000, seed=1)
    assert largest_z(found.mean, truth, found.standard_error) < z_bound(truth.size)


def test_one_step_has_no_time_to_scale():
    run = tg.simulate(ALIKE, moved(ALIKE), horizon=1, episodes=1000, seed=0)
    assert np.all(np.isfinite(run.regret))


def test_saved_and_loaded(tmp_path):
    policy = prepared(moved(HETERO), HETERO, 20)
    policy.save(tmp_path / "policy.json")
    loaded = tg.load(tmp_path / "policy.json").policy
    np.testing.assert_array_equal(parameter_vector(loaded), parameter_vector(policy))
    played = [tg.simulate(HETERO, one, horizon=20, episodes=300, seed=4).regret for one in (policy, loaded)]
    np.testing.assert_array_equal(*played)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tg.BonusThompson(tg.BallBandit(dimension=2)), "finitely many arms, got BallBandit"),
        (lambda: tg.BonusThompson(ALIKE, degree=9), "degree must be at most 8, got 9"),
        (lambda: tg.policies.Bonus(bonus=[0.0, 1.0], log_spread=[0.0, 1.0]), "as many as a polynomial has, got 2"),
        (lambda: tg.policies.Bonus(bonus=[0.0], log_spread=[0.0, 1.0, 2.0]), r"same length, got \(1,\), \(3,\)"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(tg.BadInput, match=message):
        make()
