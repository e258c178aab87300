"""Workloads are checked once, and parts of a workload are the episodes of one whole, for gradients too."""

import numpy as np
import pytest

import tsgrad as tg

PROBLEM = tg.GaussianBandit(arms=3, noise_std=[0.5, 1.0, 2.0])
POLICY = tg.ReshapedThompson(PROBLEM)
WRONG = [
    ({"horizon": 0}, "horizon must be an integer from 1 to 2147483647, got 0"),
    ({"episodes": 0}, "episodes must be an integer from 1 to 4294967039, got 0"),
    ({"episodes": 2**32}, "episodes must be an integer from 1 to 4294967039, got 4294967296"),
    ({"purpose": 1.5}, "purpose must be a Purpose, such as tsgrad.Purpose.EVALUATION, got float"),
    ({"seed": -1}, "seed must be an integer from 0 to 18446744073709551615, got -1"),
    ({"first_episode": 100}, "first_episode must be a multiple of 256, got 100"),
    ({"precision": "double"}, "precision must be one of float32, float64, got 'double'"),
    ({"chunk": 0}, "chunk must be an integer >= 1, got 0"),
    ({"conditions": [[True]]}, "conditions must be a Conditions, such as tsgrad.Conditions(batch=100), got list"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[str(change) for change, _ in WRONG])
def test_workloads_are_checked(change, message):
    given = {"horizon": 5, "episodes": 10, "seed": 0, "purpose": tg.Purpose.TRAINING, **change}
    with pytest.raises(tg.BadInput) as caught:
        tg.Workload(**given)
    assert str(caught.value) == message
    with pytest.raises(tg.BadInput):
        tg.gradient(PROBLEM, POLICY, tg.Estimator("mean", "null"), **given)


def test_counts_of_numpy_are_counts():
    given = {"horizon": 5, "episodes": 10, "seed": 1, "purpose": tg.Purpose.TRAINING}
    kinds = {"horizon": np.int64, "episodes": np.uint16, "seed": np.uint8}
    assert tg.Workload(**{**given, **{name: kind(given[name]) for name, kind in kinds.items()}}) == tg.Workload(**given)


@pytest.mark.formulas
@pytest.mark.parametrize("engine", ["jax", "native"])
def test_parts_of_a_workload_are_the_episodes_of_one_whole(engine):
    estimators = {"mean/oracle": tg.Estimator("mean", "oracle")}
    where = {"horizon": 4, "seed": 3, "engine": engine, "precision": "float64"}
    whole = tg.episode_gradients(PROBLEM, POLICY, estimators, episodes=700, **where)["mean/oracle"]
    parts = [
        tg.episode_gradients(PROBLEM, POLICY, estimators, episodes=number, first_episode=first, **where)["mean/oracle"]
        for first, number in ((0, 256), (256, 444))
    ]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    later = tg.gradient(PROBLEM, POLICY, estimators["mean/oracle"], episodes=444, first_episode=256, **where)
    np.testing.assert_allclose(later.mean, whole[256:].mean(axis=0), rtol=1e-6)
    assert not np.allclose(later.mean, whole[:444].mean(axis=0), rtol=1e-3)
