"""Wrong models under conditions: whether they are noticed, and not more often than promised."""

import numpy as np
import pytest
from scipy import stats

import tsgrad as tg
from tsgrad.evaluate.played_innovations import played_innovations

GAUSSIAN = tg.GaussianBandit(arms=3, prior_mean=[0.5, 0.0, 0.0], noise_std=[1.0, 1.0, 2.0])
CONTEXTS = tg.LinearBandit(features=tg.GaussianContexts(arms=2, dimension=2))
CASES = {
    "sums": (tg.BernoulliBandit(arms=3), tg.Conditions(batch=[30, 20, 50], floor=0.05, delay=[0.5, 0.3])),
    "in proportion": (GAUSSIAN, tg.Conditions(batch=30, allocation="proportional", delay=1)),
    "late": (GAUSSIAN, tg.Conditions(delay=[0.5, 0.3], floor=0.1, after=10)),
    "listed": (CONTEXTS, tg.Conditions(batch=[3, 1, 2])),
}


@pytest.mark.quick("late")
@pytest.mark.formulas
@pytest.mark.parametrize(("problem", "conditions"), CASES.values(), ids=CASES)
def test_innovations_are_standard_normal(problem, conditions):
    """Kolmogorov-Smirnov over some 1,500 innovations of a right model: p < 1e-4 once in 10,000 seeds."""
    which = tg.Workload(
        horizon=3, episodes=256, seed=5, purpose=tg.Purpose.EVALUATION, conditions=conditions, precision="float32"
    )
    found = played_innovations(problem, tg.Thompson(), which)
    assert found.of_sums == (problem is not CONTEXTS and not conditions.every_user)
    there = found.value[found.arm >= 0]
    assert stats.kstest(there, "norm").pvalue > 1e-4
    if problem is CONTEXTS:
        np.testing.assert_array_equal((found.arm >= 0).sum(axis=1), 6)  # of nine places, those that users came to


@pytest.mark.long
@pytest.mark.formulas
def test_a_wrong_noise_is_found_in_batches():
    wrong = tg.Misspecified(truth=GAUSSIAN, model=tg.GaussianBandit(arms=3, prior_mean=[0.5, 0, 0], noise_std=0.4))
    found = tg.diagnose(
        wrong, tg.ReshapedThompson(wrong.model), 4096, horizon=4, seed=2, conditions=tg.Conditions(batch=3, floor=0.05)
    )
    assert found.gradient_is_biased
    assert found.rewards_are_unexpected
    assert "batches 1 to 4" in str(found)


@pytest.mark.long
def test_false_alarms_in_batches():
    """60 repeats at 5%: at most 8 alarms, exceeded once in 350 such tests by a verdict of exactly that rate."""
    policy, days = tg.ReshapedThompson(GAUSSIAN), tg.Conditions(batch=20, floor=0.05, delay=1)
    alarms = sum(
        tg.diagnose(GAUSSIAN, policy, 256, horizon=3, seed=100 + repeat, conditions=days).model_is_wrong
        for repeat in range(60)
    )
    assert alarms <= 8
