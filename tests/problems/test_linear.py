"""Linear bandits: beliefs against the textbook, against the Gaussian bandit they contain, and over long runs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg
from tsgrad.problems import FunctionContexts

pytestmark = pytest.mark.formulas

FEATURES = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [1.0, 1.0, 0.0], [0.2, 0.1, 1.0]])
COVARIANCE = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 2.0]])
MEAN, NOISE = np.array([0.1, 0.0, -0.3]), np.array([0.5, 1.0, 1.0, 2.0])
CORRELATED = tg.LinearBandit(features=FEATURES, prior_mean=MEAN, prior_covariance=COVARIANCE, noise_std=NOISE)


def textbook(arms, rewards):
    """Mean and covariance from the precision form, in float64."""
    precision, moment = np.linalg.inv(COVARIANCE), np.linalg.solve(COVARIANCE, MEAN)
    for arm, reward in zip(arms, rewards, strict=True):
        precision = precision + np.outer(FEATURES[arm], FEATURES[arm]) / NOISE[arm] ** 2
        moment = moment + FEATURES[arm] * reward / NOISE[arm] ** 2
    return np.linalg.solve(precision, moment), np.linalg.inv(precision)


def believed(problem, arms, rewards):
    def step(belief, inputs):
        return problem.update(belief, tg.Context(), *inputs), None

    belief, _ = jax.lax.scan(step, problem.prior(len(arms)), (jnp.asarray(arms), jnp.asarray(rewards, float)))
    law = problem.posterior(belief)
    root = np.asarray(law.root, np.float64)
    return np.asarray(law.mean, np.float64), root @ root.T


@pytest.mark.parametrize("steps", [0, 1, 2, 30])
def test_posterior_is_the_textbook_one(steps):
    generator = np.random.default_rng(0)
    arms, rewards = generator.integers(0, 4, steps), generator.standard_normal(steps) * 2
    with jax.enable_x64(True):
        mean, covariance = believed(CORRELATED, arms, rewards)
    expected = textbook(arms, rewards)
    np.testing.assert_allclose(mean, expected[0], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(covariance, expected[1], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("arms", ["one arm only", "all arms"])
def test_belief_stays_sound_over_20_000_steps_in_float32(arms):
    """Little noise, so that what is known grows 10^7 times more precise than what is not: a precision matrix in
    float32 would be singular by then. Each standard deviation within 1% of float64's, the mean within 2% of one.
    """
    generator = np.random.default_rng(1)
    problem = tg.LinearBandit(features=FEATURES, prior_mean=MEAN, prior_covariance=COVARIANCE, noise_std=0.05)
    played = np.zeros(20_000, int) if arms == "one arm only" else generator.integers(0, 4, 20_000)
    world = generator.multivariate_normal(MEAN, COVARIANCE)
    rewards = FEATURES[played] @ world + 0.05 * generator.standard_normal(20_000)
    mean, covariance = believed(problem, played, rewards)
    with jax.enable_x64(True):
        exact_mean, exact_covariance = believed(problem, played, rewards)
    assert np.all(np.linalg.eigvalsh(covariance) > 0)
    directions = np.linalg.eigh(exact_covariance)[1].T
    for direction in directions:
        exact = np.sqrt(direction @ exact_covariance @ direction)
        assert abs(np.sqrt(direction @ covariance @ direction) / exact - 1) < 0.01
        # A mean of order one carries float32's own rounding, whatever the algorithm.
        assert abs(direction @ (mean - exact_mean)) < 0.02 * exact + 2e-6


def test_orthonormal_features_are_a_gaussian_bandit():
    """The same world, noise and draws: exactly the same episodes."""
    linear = tg.LinearBandit(
        features=np.eye(3), prior_mean=[0.3, 0, -0.2], prior_covariance=[1, 0.25, 4], noise_std=[0.5, 1, 3]
    )
    gaussian = tg.GaussianBandit(prior_mean=[0.3, 0, -0.2], prior_std=[1, 0.5, 2], noise_std=[0.5, 1, 3])
    of_linear, of_gaussian = (
        tg.simulate(problem, tg.Thompson(), horizon=30, episodes=500, seed=0, precision="float64", engine="jax")
        for problem in (linear, gaussian)
    )
    np.testing.assert_allclose(of_linear.regret, of_gaussian.regret, atol=1e-12)
    np.testing.assert_array_equal(of_linear.pulls, of_gaussian.pulls)


def test_a_turned_basis_changes_nothing_but_the_draws():
    """Features and covariance turned alike: the same means and covariances of rewards, so the same regret.

    Two independent samples of 20,000 episodes; a false alarm once in 1,000 seeds.
    """
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
    turned = tg.LinearBandit(
        features=FEATURES @ turn, prior_mean=turn.T @ MEAN, prior_covariance=turn.T @ COVARIANCE @ turn, noise_std=NOISE
    )
    regrets = [
        tg.simulate(problem, tg.Thompson(), horizon=10, episodes=20_000, seed=seed).regret
        for seed, problem in enumerate((CORRELATED, turned))
    ]
    error = np.sqrt(sum(regret.var() / regret.size for regret in regrets))
    assert abs(regrets[0].mean() - regrets[1].mean()) < 3.3 * error


def test_contexts_from_an_array_a_function_and_a_law():
    given = np.random.default_rng(3).standard_normal((6, 4, 2))
    for features in (given, lambda noise, t: jnp.asarray(given)[t - 1], lambda noise, t: given[0] * t):
        problem = tg.LinearBandit(features=features)
        runs = tg.simulate(problem, tg.Thompson(), horizon=6, episodes=3, seed=0, trajectories=True).trajectories
        assert problem.arms == 4
        assert runs.context.features.shape == (3, 6, 4, 2)
    np.testing.assert_allclose(runs.context.features[1, 4], 5 * given[0], rtol=1e-6)
    drawn = tg.LinearBandit(features=tg.GaussianContexts(arms=3, dimension=2, std=[1.0, 4.0]))
    contexts = tg.simulate(
        drawn, tg.Thompson(), horizon=9, episodes=999, seed=0, trajectories=True
    ).trajectories.context.features
    np.testing.assert_allclose(contexts.std(axis=(0, 1, 2)), [1, 4], rtol=0.05)
    assert len(np.unique(contexts[:, :, 0, 0])) > 8000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": [1.0, 2.0]}, r"features must have axes \[K, d\]"),
        ({"features": np.eye(2), "prior_mean": [1.0, 2.0, 3.0]}, "prior_mean must be one number or 2"),
        ({"features": np.eye(2), "prior_covariance": [[1, 2], [2, 1]]}, "positive definite, its smallest .* is -1"),
        ({"features": np.eye(2), "prior_covariance": [[1, 1], [0, 1]]}, "prior_covariance must be symmetric"),
        ({"features": np.eye(2), "prior_covariance": np.eye(3)}, r"must have shape \(2, 2\), got \(3, 3\)"),
        ({"features": np.eye(2), "noise_std": [1.0, -1.0]}, r"noise_std\[1\] must be > 0"),
        ({"features": np.eye(2), "noise_std": [1.0, 1.0, 1.0]}, "noise_std must be one number or 2, one per arm"),
        ({"features": lambda noise, t: t}, r"features must be a function that gives an array \[K, d\]"),
        ({"features": [[np.nan]]}, r"features\[0, 0\] must be finite"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(tg.BadInput, match=message):
        tg.LinearBandit(**arguments)


def test_contexts_that_run_out():
    problem = tg.LinearBandit(features=np.ones((5, 2, 2)))
    policy = tg.ReshapedThompson(problem)
    for use in (
        lambda: tg.simulate(problem, tg.Thompson(), horizon=6, episodes=1, seed=0),
        lambda: tg.gradient(problem, policy, tg.Estimator("mean", "self"), horizon=6, episodes=1, seed=0),
        lambda: tg.train(problem, policy, tg.Estimator("mean", "self"), horizon=6, seed=0),
    ):
        with pytest.raises(tg.BadInput, match="contexts for 5 steps, horizon is 6"):
            use()


def test_policies_say_which_problems_they_are_for():
    policy = tg.ReshapedThompson(CORRELATED)
    with pytest.raises(tg.BadInput, match="one with a normal prior for this policy, got GaussianBandit"):
        tg.simulate(tg.GaussianBandit(arms=2), policy, horizon=2, episodes=1, seed=0)
    with pytest.raises(tg.BadInput, match="for 3 dimensions, the problem has 2"):
        tg.simulate(tg.BallBandit(dimension=2), policy, horizon=2, episodes=1, seed=0)
    with pytest.raises(tg.BadInput, match="'fin' is for IndependentArms only, got LinearBandit"):
        tg.gradient(CORRELATED, policy, tg.Estimator("fin", "self"), horizon=2, episodes=1, seed=0)


def test_a_function_of_contexts_is_not_for_files():
    problem = tg.LinearBandit(features=lambda noise, t: jnp.ones((2, 2)))
    assert isinstance(problem.features, FunctionContexts)
    from tsgrad.registry import to_data

    with pytest.raises(tg.BadInput, match="can't be saved"):
        to_data(problem)


def test_the_noise_of_a_balls_step_is_kept_when_its_world_is_redrawn():
    """All arms share the noise of a step, so that what was seen tells it: obs/self is as calm as in the true world.

    With noise drawn anew for other arms the trace of the covariance is more than twice as large (91.8 against 42.4).
    """
    problem = tg.BallBandit(dimension=2)
    traces = {}
    for world in ("true", "posterior"):
        estimator = {"one": tg.Estimator("obs", "self", world=world)}
        found = tg.episode_gradients(problem, tg.ReshapedThompson(problem), estimator, horizon=4, episodes=8192, seed=1)
        traces[world] = found["one"].var(axis=0, ddof=1).sum()
    assert traces["posterior"] == pytest.approx(traces["true"], rel=0.2)
