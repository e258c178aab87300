"""Training under conditions: the run's folder carries them, and training goes by the gradient that suits them."""

import jax
import numpy as np
import pytest

import tsgrad as tg
from tsgrad.simulation import Listed
from tsgrad.training import RunFolder

PROBLEM = tg.GaussianBandit(arms=2)


@pytest.mark.formulas
def test_a_run_carries_its_conditions(tmp_path):
    conditions = tg.Conditions(batch=20, delay=1, floor=0.1, after=10)
    run = tg.train(
        PROBLEM,
        tg.BonusThompson(PROBLEM, degree=0),
        horizon=2,
        episodes=64,
        iterations=1,
        validation_episodes=64,
        conditions=conditions,
        out=tmp_path / "run",
    )
    assert run.provenance["estimator"] == "bayes (pathwise)"
    assert float(run.trained.most_left) == 40  # users, not steps
    assert RunFolder(tmp_path / "run").run().conditions.table == conditions.table
    saved = tg.load(tmp_path / "run" / "policy.json")
    assert tg.Conditions(**saved.conditions).words(2) == conditions.words(2)


@pytest.mark.long
@pytest.mark.formulas
def test_users_who_are_listed_are_single_users(monkeypatch):
    """A list of one user a step is one user a step: the same gradient, episode by episode, by the other way."""
    problem = tg.LinearBandit(features=tg.GaussianContexts(arms=2, dimension=2))
    policy = tg.BonusThompson(problem, degree=0)

    def gradients():
        jax.clear_caches()
        return tg.episode_gradients(
            problem,
            policy,
            {"one": tg.Estimator("bayes", "self")},
            horizon=3,
            episodes=32,
            seed=0,
            precision="float64",
            conditions=tg.Conditions(floor=0.1, after=4, delay=1),
        )["one"]

    single = gradients()
    monkeypatch.setattr("tsgrad.simulation.rollout.crowd_of", lambda *_: Listed(1))
    np.testing.assert_allclose(gradients(), single, atol=1e-9 * np.abs(single).max())
    assert np.abs(single).max() > 0
