"""Pathwise gradients of batches against the exact ones, and which gradient is taken when."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import batches
import tsgrad as tg
from exact_conditions import gradient as enumerated_gradient
from false_alarms import largest_z, z_bound
from tsgrad.estimate import gradient_used
from tsgrad.policies import parameter_vector


@pytest.mark.long
@pytest.mark.formulas
def test_pathwise_gradient_of_large_batches_has_no_bias_that_shows():
    """Two batches of 500 users, 1,024 episodes: no meta-parameter is further off than once in a thousand seeds."""
    policy = tg.ReshapedThompson(batches.PROBLEM)
    with jax.enable_x64(True):
        slope = jax.jit(jax.grad(batches.expected_reward), static_argnums=1)(jax.tree.map(jnp.asarray, policy), 500)
        exact = parameter_vector(slope)
    found = tg.gradient(
        batches.PROBLEM,
        policy,
        tg.Estimator("bayes", "self"),
        horizon=2,
        episodes=1024,
        seed=0,
        conditions=tg.Conditions(batch=500),
    )
    assert largest_z(found.mean, exact, found.standard_error) < z_bound(len(exact))


@pytest.mark.long
def test_pathwise_gradient_of_tiny_batches_points_the_right_way():
    """Three users a batch in proportion, with a floor, delays and a final choice, where counts are far from normal: the
    direction is right to a cosine of 0.9 (4,096 episodes).
    """
    problem = tg.BernoulliBandit(alpha=[1.0, 2.0], beta=[1.0, 1.5])
    policy = tg.ReshapedThompson(problem, shared=False)
    said = {"batch": 3, "allocation": "proportional", "floor": 0.1, "after": 5}
    exact = enumerated_gradient(problem, policy, 2, **said)
    found = tg.gradient(
        problem,
        policy,
        tg.Estimator("bayes", "self"),
        horizon=2,
        episodes=4096,
        seed=0,
        conditions=tg.Conditions(**said),
    ).mean
    assert exact @ found / np.linalg.norm(exact) / np.linalg.norm(found) > 0.9


def test_which_gradient_is_taken():
    problem = tg.GaussianBandit(arms=2)
    policy = tg.BonusThompson(problem)

    def used(estimator=None, **said):
        return gradient_used(problem, policy, estimator or tg.Estimator(), tg.Conditions(**said))

    assert used() == used(delay=3, floor=0.1) == used(batch=19) == "score"
    assert used(batch=20) == used(batch=3, allocation="proportional") == "pathwise"
    assert used(tg.Estimator(gradient="score"), batch=1000) == "score"
    assert used(tg.Estimator(gradient="pathwise"), batch=3) == "pathwise"
    linear = tg.LinearBandit(features=[[1.0, 0.0], [0.0, 1.0]])
    assert gradient_used(linear, tg.BonusThompson(linear), tg.Estimator(), tg.Conditions(batch=50)) == "score"
    assert tg.Estimator("bayes", "self", gradient="pathwise").name == "bayes (pathwise)"
