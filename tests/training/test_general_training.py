"""Training pays beyond independent arms: contexts, binary rewards, a ball of actions. Paired, on fresh episodes."""

import pytest

import tsgrad as tg

PROBLEMS = {
    "contexts, d = 5, K = 10": tg.LinearBandit(features=tg.GaussianContexts(arms=10, dimension=5)),
    "logistic, d = 5, K = 5": tg.LogisticBandit(features=tg.GaussianContexts(arms=5, dimension=5)),
    "ball, d = 10": tg.BallBandit(dimension=10),
}


def long_but_first(cases):
    """The first of some cases for every change, the others with what is long and rare."""
    (name, first), *others = cases.items()
    return [pytest.param(first, id=name), *(pytest.param(one, id=name, marks=pytest.mark.long) for name, one in others)]


@pytest.mark.parametrize("problem", long_but_first(PROBLEMS))
def test_training_lowers_regret(problem):
    """By the default family and estimator, at a horizon of 20 steps, by more than five standard errors."""
    run = tg.train(
        problem,
        horizon=20,
        episodes=256,
        iterations=15,
        check_every=15,
        validation_episodes=512,
        seed=0,
    )
    policies = {"plain": tg.Thompson(), "tuned": run.policy}
    gain, error = tg.compare(problem, policies, horizon=20, episodes=1024, seed=1).difference("plain", "tuned")
    assert gain > 5 * error
