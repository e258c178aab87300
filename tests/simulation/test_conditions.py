"""Arms that come and go: nobody plays an arm that is not there, the oracle neither, and engines agree."""

import itertools
from functools import partial

import numpy as np
import pytest

import tsgrad as tg
from tsgrad import native
from tsgrad.policies import ReshapedBernoulli

HORIZON = 6
MISSING = np.arange(HORIZON)[:, None] % 3 == np.arange(3)
AVAILABLE = ~MISSING
PROBLEMS = {
    "gaussian": tg.GaussianBandit(prior_mean=[0.3, 0.0, -0.2], noise_std=[0.5, 1.0, 2.0]),
    "bernoulli": tg.BernoulliBandit(alpha=[1.0, 2.0, 0.7], beta=[1.0, 1.0, 2.0]),
}
PAIRS = [f"{metric}/{baseline}" for metric, baseline in itertools.product(native.METRICS, native.BASELINES)]


def played(problem, policy, available, **options):
    return tg.simulate(
        problem,
        policy,
        horizon=HORIZON,
        episodes=300,
        seed=5,
        conditions=tg.Conditions(available=available),
        **options,
    )


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("policy", [tg.Thompson(), tg.Greedy(), tg.BayesUCB()], ids=["sampling", "greedy", "index"])
def test_engines_agree_under_masks(problem, policy):
    ours, reference = (
        played(problem, policy, AVAILABLE, precision="float64", engine=engine) for engine in ("native", "jax")
    )
    np.testing.assert_allclose(ours.regret, reference.regret, atol=1e-9)
    np.testing.assert_array_equal(ours.pulls, reference.pulls)
    assert np.all(reference.regret > -1e-12)  # the oracle plays the best of the arms that are there, and no other
    free = played(problem, policy, None, precision="float64")
    assert not np.allclose(free.regret, ours.regret)
    np.testing.assert_array_equal(
        played(problem, policy, np.ones_like(AVAILABLE), engine="native").regret,
        played(problem, policy, None, engine="native").regret,
    )


@pytest.mark.parametrize(
    "family", [tg.ReshapedThompson, partial(tg.BonusThompson, degree=1)], ids=["reshaped", "bonus"]
)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_gradients_of_every_pair_agree_under_masks(problem, family):
    policy = family(problem)
    score = "draw" if isinstance(policy, ReshapedBernoulli) else "conditional"  # which there is a kernel for
    where = {"horizon": HORIZON, "episodes": 300, "seed": 5, "precision": "float64"}
    estimators = {pair: tg.Estimator(*pair.split("/"), score=score) for pair in PAIRS}
    conditions = tg.Conditions(available=AVAILABLE)
    reference = tg.episode_gradients(problem, policy, estimators, engine="jax", conditions=conditions, **where)
    for pair, estimator in estimators.items():
        one = {pair: estimator}
        ours = tg.episode_gradients(problem, policy, one, engine="native", conditions=conditions, **where)[pair]
        np.testing.assert_allclose(ours, reference[pair], atol=1e-9 * np.abs(reference[pair]).mean(), err_msg=pair)


def test_the_oracle_chooses_among_the_arms_that_are_there():
    """One arm a step: whoever plays has no regret, though other arms would have been better."""
    alone = np.arange(HORIZON)[:, None] % 3 == np.arange(3)
    found = played(PROBLEMS["gaussian"], tg.Uniform(), alone, engine="jax")
    np.testing.assert_array_equal(found.regret, 0)
    np.testing.assert_array_equal(found.pulls, [2, 2, 2])


@pytest.mark.parametrize(
    ("available", "message"),
    [
        ([[True, True]], "available must have axes [T, K], here (6, 3), got shape (1, 2)"),
        ([[1, 0, 1]], "available must be booleans with axes [T, K], got int64 of shape (1, 3)"),
        ([[False, False, False]], "available[0] must have an arm that can be played, got none"),
    ],
)
def test_masks_that_do_not_fit_are_refused(available, message):
    with pytest.raises(tg.BadInput) as caught:
        played(PROBLEMS["gaussian"], tg.Thompson(), available)
    assert str(caught.value) == message


def test_balls_have_no_arms_to_leave_out():
    with pytest.raises(tg.BadInput, match="available must be left out for BallBandit"):
        tg.simulate(
            tg.BallBandit(dimension=2),
            tg.Thompson(),
            horizon=1,
            episodes=1,
            seed=0,
            conditions=tg.Conditions(available=[[True]]),
        )
