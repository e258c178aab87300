"""Rivals for bandits whose arms teach about each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg
from false_alarms import z_bound
from tsgrad.policies import Clock
from tsgrad.policies.rivals.best_arm import sampled_best_arm
from tsgrad.problems import Context
from tsgrad.streams import Address, Purpose, Stream

FEATURES = np.array([[1.0, 0.0], [0.6, 0.8], [-0.5, 1.0]])
PROBLEM = tg.LinearBandit(features=FEATURES, prior_mean=[0.2, -0.1], prior_covariance=[[1.0, 0.3], [0.3, 2.0]])
ARMS, REWARDS = [0, 1, 1, 2], [0.4, -1.0, 0.3, 1.2]


def posterior():
    """The belief after some rewards; and mean and covariance from the textbook formula."""
    belief = PROBLEM.prior(6)
    for arm, reward in zip(ARMS, REWARDS, strict=True):
        belief = PROBLEM.update(belief, Context(), jnp.asarray(arm), jnp.asarray(reward))
    seen = FEATURES[ARMS]
    prior = np.linalg.inv(PROBLEM.prior_covariance)
    covariance = np.linalg.inv(prior + seen.T @ seen)
    return belief, covariance @ (prior @ PROBLEM.prior_mean + seen.T @ np.array(REWARDS)), covariance


def noise():
    return Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.POLICY).step(5)


@pytest.mark.parametrize("level", [0.01, 0.5, 0.8, 0.99])
def test_bayes_ucb_plays_the_largest_quantile(level):
    from scipy import stats

    belief, mean, covariance = posterior()
    width = np.sqrt(np.einsum("ki,ij,kj->k", FEATURES, covariance, FEATURES))
    expected = np.argmax(FEATURES @ mean + stats.norm.ppf(level) * width)
    policy = tg.BayesUCB(level).prepare(PROBLEM, 6)
    assert policy.act(PROBLEM, belief, None, Context(), Clock(5, 6), noise()) == expected


def test_the_levels_tell_arms_apart():
    """The test above can fail: its arms differ with the level."""
    _, mean, covariance = posterior()
    width = np.sqrt(np.einsum("ki,ij,kj->k", FEATURES, covariance, FEATURES))
    assert len({int(np.argmax(FEATURES @ mean + z * width)) for z in (-2.3, 0.0, 2.3)}) > 1


def test_greedy_plays_the_largest_mean():
    belief, mean, _ = posterior()
    policy = tg.Greedy().prepare(PROBLEM, 6)
    assert policy.act(PROBLEM, belief, None, Context(), Clock(5, 6), noise()) == np.argmax(FEATURES @ mean)


def test_sampled_quantities_are_those_of_the_posterior():
    """512 draws against 400,000: probabilities and shortfalls within a z-bound of 6, variances to a half."""
    belief, mean, covariance = posterior()
    found = jax.jit(lambda: sampled_best_arm(PROBLEM, belief, Context(), noise()))()
    draws = np.random.default_rng(0).multivariate_normal(mean, covariance, 400_000) @ FEATURES.T
    best = draws.argmax(axis=1)
    share = np.bincount(best, minlength=3) / len(draws)
    moved = np.array([draws[best == arm].mean(axis=0) - draws.mean(axis=0) for arm in range(3)])
    lost = draws.max(axis=1, keepdims=True) - draws
    assert np.all(np.abs(found.probability - share) < z_bound(6) * np.sqrt(share * (1 - share) / 512) + 1e-6)
    assert np.all(np.abs(found.shortfall - lost.mean(axis=0)) < z_bound(6) * lost.std(axis=0) / np.sqrt(512))
    np.testing.assert_allclose(found.variance, share @ moved**2, rtol=0.5)


@pytest.mark.long
def test_rivals_learn_from_contexts():
    """Features anew at every step: Bayes-UCB and V-IDS beat Thompson sampling on 1,024 common episodes by 5 s.e."""
    problem = tg.LinearBandit(features=tg.GaussianContexts(arms=6, dimension=3))
    options = {"horizon": 20, "episodes": 1024, "seed": 3}
    plain = tg.simulate(problem, tg.Thompson(), **options).regret
    for rival in (tg.BayesUCB(), tg.InformationDirected()):
        gain = plain - tg.simulate(problem, rival, **options).regret
        assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))


def test_what_is_not_defined_is_said():
    with pytest.raises(tg.BadInput, match="gain must be 'variance' for LinearBandit"):
        tg.InformationDirected("mutual").prepare(PROBLEM, 5)
    message = (  # the rival that the contributing guide defines may be there too
        "rivals that are: ABTest, BayesUCB,( EpsilonGreedy,)? ExploreThenCommit, Greedy, InformationDirected,"
        " SatisficingThompson, ScaledThompson, SuccessiveElimination, TopTwoThompson, Uniform$"
    )
    with pytest.raises(tg.BadInput, match=message):
        tg.FiniteHorizonGittins().prepare(PROBLEM, 5)
