"""Training pays beyond independent arms: contexts, binary rewards, a ball of actions. Paired, on fresh episodes."""

import json

import pytest

import tsgrad as tg
from tsgrad.streams import Purpose

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
    policies = {"plain": tg.Thompson(), "tuned": run.trained}
    gain, error = tg.compare(problem, policies, horizon=20, episodes=1024, seed=1).difference("plain", "tuned")
    assert gain > 5 * error


FAMILIES = {
    "bernoulli": tg.BernoulliBandit(arms=3),
    "gaussian": tg.GaussianBandit(arms=3),
    "poisson": tg.PoissonBandit(arms=3),
    "unknown variance": tg.UnknownVarianceBandit(arms=3),
    **PROBLEMS,
}


@pytest.mark.parametrize("problem", long_but_first(FAMILIES))
def test_a_run_shows_plain_thompson_sampling_itself(problem, tmp_path):
    """Not the approximation with normal draws that the bonus law is at zero: on the run's episodes, to the last bit; in
    the run, in words, in its folder and in the policy file.
    """
    where = {"horizon": 6, "seed": 4}
    run = tg.train(
        problem, episodes=64, iterations=1, validation_episodes=256, rivals=False, out=tmp_path / "run", **where
    )
    plain = tg.simulate(problem, tg.Thompson(), episodes=256, purpose=Purpose.VALIDATION, iteration=1, **where)
    assert run.plain_regret == plain.regret.mean()
    assert f"Regret {run.plain_regret:.3f}" in str(run)
    assert tg.resume(tmp_path / "run").plain_regret == run.plain_regret
    expected = json.loads((tmp_path / "run" / "policy.json").read_text())["expected"]
    assert expected["regret_of_thompson"] == run.plain_regret
