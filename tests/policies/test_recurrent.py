"""Recurrent policies: what they see, where they start, and that training them pays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg
from tsgrad.estimate import log_likelihood, weighted_score
from tsgrad.policies import Clock, parameter_vector, with_parameters

HETERO = tg.GaussianBandit(noise_std=[0.1, 0.4, 1.0, 4.0, 10.0])


def perturbed(policy, size=0.3):
    vector = parameter_vector(policy)
    return with_parameters(policy, vector + size * np.random.default_rng(0).standard_normal(vector.size))


@pytest.mark.formulas
@pytest.mark.parametrize("form", ["residual", "free"])
def test_score_goes_through_the_hidden_states(form):
    """The derivative of a fixed run's log-likelihood, by central differences in float64, along every weight of the
    recurrent cell; those weights act through the hidden states alone.
    """
    problem = tg.GaussianBandit(arms=2, noise_std=[0.5, 1.0])
    policy = perturbed(tg.RecurrentThompson(problem, form=form, hidden=2))
    with jax.enable_x64(True):
        runs = tg.simulate(problem, policy, horizon=6, episodes=1, seed=1, trajectories=True, precision="float64")
        run = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), runs.trajectories)
        weights = jnp.linspace(-1, 2, 6)
        likelihood = jax.jit(lambda moved: log_likelihood(problem, moved, run, weights))
        score = np.asarray(weighted_score(problem, policy, run, weights))
        center = parameter_vector(policy)

        def at(point):
            return float(likelihood(jax.tree.map(jnp.asarray, with_parameters(policy, point))))

        cell = np.size(policy.weight_input) + np.size(policy.weight_hidden)
        for index in range(cell):
            step = 1e-5 * np.eye(center.size)[index]
            slope = (at(center + step) - at(center - step)) / 2e-5
            np.testing.assert_allclose(score[index], slope, rtol=1e-6, atol=1e-7)
        assert np.max(np.abs(score[:cell])) > 1e-2


def test_the_free_form_sees_the_history_alone():
    policy = perturbed(tg.RecurrentThompson(HETERO, form="free", hidden=4))
    memory = jnp.linspace(-1, 1, 4)
    beliefs = [HETERO.prior(9), HETERO.update(HETERO.prior(9), tg.Context(), jnp.asarray(1), jnp.asarray(3.0))]
    laws = [policy.law(HETERO, belief, memory, tg.Context(), Clock(2, 9)) for belief in beliefs]
    np.testing.assert_array_equal(laws[0].location, laws[1].location)
    later = policy.remember(memory, tg.Context(), jnp.asarray(1), jnp.asarray(3.0))
    assert not np.array_equal(later, memory)


def test_bad_input():
    with pytest.raises(tg.BadInput, match="form must be one of residual, free, got 'fre'"):
        tg.RecurrentThompson(HETERO, form="fre")
    with pytest.raises(tg.BadInput, match="this problem needs 4 and 4, or other inputs: make it with"):
        tg.simulate(tg.GaussianBandit(arms=2), tg.RecurrentThompson(HETERO), horizon=2, episodes=1, seed=0)


@pytest.mark.long
def test_training_the_residual_form_pays():
    """Heteroscedastic setting, 20,000 fresh episodes: plain Thompson sampling loses 25.9, this at most 17.0."""
    run = tg.train(
        HETERO,
        tg.RecurrentThompson(HETERO, hidden=16),
        tg.Estimator("mean", "self", rollouts=4),
        horizon=50,
        episodes=256,
        iterations=120,
        validation_episodes=4096,
        learning_rate=0.01,
        seed=0,
    )
    regret = tg.simulate(HETERO, run.policy, horizon=50, episodes=20_000, seed=1).regret
    assert regret.mean() + 3 * regret.std() / np.sqrt(regret.size) < 17.0


def test_rewards_that_hardly_ever_come_are_read_as_they_are():
    """4,096 episodes of arms that pay once in 100,000 times have no spread to read rewards in."""
    policy = tg.RecurrentThompson(tg.BernoulliBandit(alpha=1, beta=1e5, arms=3), hidden=2)
    assert np.all(policy.reward_scale > 0)


def test_more_units_than_can_be_computed_with_are_refused():
    with pytest.raises(tg.BadInput, match="hidden must be an integer from 1 to 1024, got 200000"):
        tg.RecurrentThompson(HETERO, hidden=200_000)


@pytest.mark.quick("3")
@pytest.mark.formulas
@pytest.mark.parametrize("dimension", [2, 3])
def test_contexts_of_the_truth_that_the_model_does_not_know(dimension):
    """A model without contexts tells arms apart by their number, whatever the features of the truth are; also where
    there are as many features as arms. Both kinds of policy, and the metric whose oracle follows the best arm.
    """
    truth = tg.LinearBandit(features=tg.GaussianContexts(arms=3, dimension=dimension))
    problem = tg.Misspecified(truth=truth, model=tg.GaussianBandit(arms=3))
    policy = tg.RecurrentThompson(problem, hidden=2)
    assert not policy.reads_features
    where = {"horizon": 3, "episodes": 4, "seed": 0}
    for chosen in (policy, tg.ReshapedThompson(problem)):
        found = tg.gradient(problem, chosen, tg.Estimator("fin", "oracle"), **where)
        assert np.all(np.isfinite(found.mean))
    with pytest.raises(tg.BadInput, match=r"make it with RecurrentThompson\(problem\)"):
        tg.simulate(truth, policy, **where)
