"""Gradients of batches against the exact ones, and which gradient is taken when."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy import special, stats

import batches
import tsgrad as tg
from exact_conditions import gradient as enumerated_gradient
from false_alarms import largest_z, z_bound
from tsgrad.estimate import gradient_used
from tsgrad.policies import Clock, parameter_vector, split, with_parameters


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


def best_mean_by_count(problem, users):
    """The expected best posterior mean once so many of the users, [users + 1], got arm 0 of two: by enumeration."""

    def outcomes(arm, count):
        alpha, beta, won = problem.alpha[arm], problem.beta[arm], np.arange(count + 1)
        log = special.betaln(alpha + won, beta + count - won) - special.betaln(alpha, beta)
        return special.binom(count, won) * np.exp(log), (alpha + won) / (alpha + beta + count)

    values = []
    for count in range(users + 1):
        (chance, mean), (other_chance, other_mean) = outcomes(0, count), outcomes(1, users - count)
        values.append(chance @ np.maximum(mean[:, None], other_mean) @ other_chance)
    return np.array(values)


@pytest.mark.long
@pytest.mark.formulas
@pytest.mark.parametrize("users", [10, 24, 50, 100, 300])
def test_what_a_batch_teaches_has_its_full_weight(users):
    """One batch, and a final choice that matters a hundred times as much: derivatives in the share of arm 0, from the
    binomial law of its users. 65,536 episodes; standard errors are below 5%, and four of them are once in 16,000 seeds.
    """
    problem = tg.BernoulliBandit(alpha=[1.0, 2.0], beta=[1.5, 1.0])
    policy = tg.ReshapedThompson(problem)
    vector = parameter_vector(policy) + np.array([-0.75, 0, 0, 0, 0, 0, 0, 0])  # arm 0 is seldom played

    def share_of(vector):
        moving, fixed = split(policy)
        law = eqx.combine(ravel_pytree(moving)[1](vector), fixed)
        return law.shares(problem, problem.prior(users), None, tg.Context(), Clock(1, users))[0]

    share, slope = jax.value_and_grad(share_of)(jnp.asarray(vector, jnp.float32))
    share = float(share)
    after, counts = 100 * users, np.arange(users + 1)
    value = after * best_mean_by_count(problem, users) + counts * 0.4 + (users - counts) * 2 / 3
    weight = stats.binom.pmf(counts, users, share) * (counts / share - (users - counts) / (1 - share))
    exact = (weight @ value) * np.asarray(slope)
    found = tg.gradient(
        problem,
        with_parameters(policy, vector),
        tg.Estimator("bayes", "self", rollouts=4, gradient="pathwise"),
        horizon=1,
        episodes=65_536,
        seed=0,
        conditions=tg.Conditions(batch=users, after=after),
    )
    assert found.standard_error[0] < 0.05 * abs(exact[0])
    assert abs(found.mean[0] - exact[0]) < 4 * found.standard_error[0]


FAMILIES = {
    "gaussian": tg.GaussianBandit(prior_mean=[0.0, 0.3, -0.2], prior_std=[1.0, 0.3, 2.0], noise_std=[1.0, 2.0, 4.0]),
    "bernoulli": tg.BernoulliBandit(alpha=[1.0, 4.0, 0.5], beta=[2.0, 9.0, 2.0]),
    "poisson": tg.PoissonBandit(shape=[1.0, 6.0, 0.5], rate=[1.0, 5.0, 0.5]),
    "unknown variance": tg.UnknownVarianceBandit(
        prior_mean=[0.0, 0.2, -0.3], prior_weight=[1.0, 5.0, 0.3], shape=[2.0, 3.0, 2.5], rate=[1.0, 4.0, 6.0]
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("said", [{}, {"floor": 0.05, "delay": 1, "after": 500}], ids=["plain", "late"])
@pytest.mark.parametrize("users", [24, 100])
@pytest.mark.parametrize("family", FAMILIES)
def test_differentiated_batches_agree_with_scores(family, users, said):
    """Two batches away from the start: both gradients have the same expectation, up to 5% of its length. Of 6
    differences one is beyond that and its bound by chance less than once in 1,000 seeds.
    """
    problem = FAMILIES[family]
    policy = tg.BonusThompson(problem, degree=1)
    policy = with_parameters(policy, np.array([0.3, 0.2, -0.3, -0.7, 0.1, 0.2]))
    options = {"horizon": 2, "episodes": 16_384, "conditions": tg.Conditions(batch=users, **said)}
    score, moved = (
        tg.gradient(problem, policy, tg.Estimator("bayes", "self", rollouts=4, gradient=kind), seed=seed, **options)
        for seed, kind in enumerate(("score", "pathwise"))
    )
    error = np.hypot(score.standard_error, moved.standard_error)
    beyond = np.maximum(np.abs(moved.mean - score.mean) - 0.05 * np.linalg.norm(score.mean), 0)
    assert np.linalg.norm(score.mean) > 4 * np.linalg.norm(error)  # there is something to compare
    assert largest_z(beyond, 0, error) < z_bound(6)


@pytest.mark.long
def test_training_in_small_batches_reaches_the_batch_knowledge_gradient():
    """Four uniform Bernoulli arms, three batches of 24 users, 300 users afterwards. Paired regrets of 32,768 episodes
    are three standard errors apart once in 700 seeds if both policies are equally good.
    """
    problem, conditions = tg.BernoulliBandit(arms=4), tg.Conditions(batch=24, after=300)
    run = tg.train(problem, tg.BonusThompson(problem), horizon=3, conditions=conditions)
    rival, trained = (
        tg.simulate(problem, policy, horizon=3, episodes=32_768, seed=2, conditions=conditions).regret
        for policy in (tg.BatchKnowledgeGradient(), run.policy)
    )
    worse = trained - rival
    assert worse.mean() < 3 * worse.std() / np.sqrt(len(worse))


def test_which_gradient_is_taken():
    problem = tg.GaussianBandit(arms=2)
    policy = tg.BonusThompson(problem)

    def used(estimator=None, **said):
        return gradient_used(problem, policy, estimator or tg.Estimator(), tg.Conditions(**said))

    assert used() == used(delay=3, floor=0.1) == "score"
    assert used(batch=2) == used(batch=3, allocation="proportional") == "pathwise"
    assert used(tg.Estimator(gradient="score"), batch=1000) == "score"
    assert used(tg.Estimator(gradient="pathwise"), batch=3) == "pathwise"
    linear = tg.LinearBandit(features=[[1.0, 0.0], [0.0, 1.0]])
    assert gradient_used(linear, tg.BonusThompson(linear), tg.Estimator(), tg.Conditions(batch=50)) == "score"
    assert tg.Estimator("bayes", "self", gradient="pathwise").name == "bayes (pathwise)"
