"""Gradients beyond independent arms: exact where two correlated arms allow it, pairs against each other elsewhere."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg
from exact import NODES, WEIGHTS
from false_alarms import largest_z, z_bound
from test_exact_gradients import PAIRS, estimator
from tsgrad.policies import Clock, parameter_vector, with_parameters

pytestmark = pytest.mark.formulas

SHARED_DIRECTION = np.array([[1.0, 0.3], [0.8, -0.9]])
CORRELATED = tg.LinearBandit(
    features=SHARED_DIRECTION, prior_mean=[0.2, -0.1], prior_covariance=[[1.0, 0.4], [0.4, 0.6]], noise_std=[0.5, 1.3]
)
GENERAL_PAIRS = [pair for pair in PAIRS if not pair.startswith("fin")]


def moved(problem):
    policy = tg.ReshapedThompson(problem)
    vector = parameter_vector(policy)
    return with_parameters(policy, vector + 0.4 * np.random.default_rng(8).standard_normal(vector.shape))


def linear_reward(problem, policy, horizon):
    """Two correlated arms, one step or two: the choice in closed form, the first reward by quadrature."""
    features = jnp.asarray(SHARED_DIRECTION)
    apart = features[0] - features[1]

    def choice(belief, t):
        law = policy.law(problem, belief, None, tg.Context(), Clock(t, horizon))
        first = jax.scipy.stats.norm.cdf(apart @ law.mean / jnp.linalg.norm(law.root.T @ apart))
        return jnp.stack([first, 1 - first])

    nothing = problem.prior(horizon)
    first = choice(nothing, 1)
    total = first @ problem.posterior_means(nothing, tg.Context())
    if horizon == 1:
        return total
    for arm in (0, 1):
        variance = features[arm] @ problem.prior_covariance @ features[arm] + problem.noise_std[arm] ** 2

        def second(reward, arm=arm):
            belief = problem.update(nothing, tg.Context(), jnp.asarray(arm), reward)
            return choice(belief, 2) @ problem.posterior_means(belief, tg.Context())

        rewards = features[arm] @ problem.prior_mean + jnp.sqrt(variance) * NODES
        total += first[arm] * jnp.sum(WEIGHTS * jax.vmap(second)(rewards))
    return total


@pytest.mark.long
@pytest.mark.parametrize("horizon", [1, 2])
@pytest.mark.parametrize("policy", [tg.ReshapedThompson, moved], ids=["start", "moved"])
def test_correlated_arms_every_pair_is_unbiased(policy, horizon):
    """16 pairs x 5 meta-parameters, 30,000 episodes: 80 comparisons, false alarm once in 1,000 seeds."""
    policy = policy(CORRELATED)
    with jax.enable_x64(True):
        slope = jax.grad(lambda moving: linear_reward(CORRELATED, moving, horizon))
        truth = parameter_vector(slope(jax.tree.map(jnp.asarray, policy)))
    estimators = {pair: estimator(pair) for pair in GENERAL_PAIRS}
    found = tg.episode_gradients(CORRELATED, policy, estimators, horizon=horizon, episodes=30_000, seed=5)
    bound = z_bound(len(GENERAL_PAIRS) * truth.size)
    for pair, sample in found.items():
        error = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
        assert largest_z(sample.mean(axis=0), truth, error) < bound, pair


@pytest.mark.quick("logistic")
@pytest.mark.parametrize(
    ("problem", "pairs"),
    [
        (tg.LinearBandit(features=tg.GaussianContexts(arms=3, dimension=2)), GENERAL_PAIRS),
        (tg.BallBandit(dimension=3, prior_mean=[0.5, 0.0, 0.0], noise_std=0.5), GENERAL_PAIRS),
        # Laplace's posterior is not exact: what is drawn from it or averaged over it is not held to be unbiased.
        (
            tg.LogisticBandit(features=tg.GaussianContexts(arms=3, dimension=2), prior_covariance=4.0),
            [f"{metric}/{baseline}" for metric in ("obs", "mean") for baseline in ("null", "oracle", "self")],
        ),
    ],
    ids=["contexts", "ball", "logistic"],
)
def test_pairs_agree(problem, pairs):
    """Each pair against mean/oracle on the same 20,000 episodes; at most 80 comparisons, 1 false alarm in 1,000."""
    policy = moved(problem)
    estimators = {pair: estimator(pair) for pair in pairs}
    found = tg.episode_gradients(problem, policy, estimators, horizon=3, episodes=20_000, seed=6)
    reference = found["mean/oracle"]
    assert np.max(np.abs(reference.mean(axis=0) / (reference.std(axis=0) / np.sqrt(len(reference))))) > 6
    for pair, sample in found.items():
        difference = sample - reference
        error = difference.std(axis=0, ddof=1) / np.sqrt(len(sample))
        assert largest_z(difference.mean(axis=0), 0, error) < z_bound(80), pair
