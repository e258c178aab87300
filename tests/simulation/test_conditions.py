"""Conditions: arms that come and go, batches, delays, floors, a final choice; against enumerations of tiny cases."""

import itertools
import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import exact_conditions
import tsgrad as tg
from false_alarms import largest_z, z_bound
from tsgrad import native
from tsgrad.policies import SamplesWorlds, parameter_vector, with_parameters

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


@pytest.mark.formulas
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


@pytest.mark.formulas
@pytest.mark.quick("gaussian-bonus")
@pytest.mark.parametrize(
    "family", [tg.ReshapedThompson, partial(tg.BonusThompson, degree=1)], ids=["reshaped", "bonus"]
)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_gradients_of_every_pair_agree_under_masks(problem, family):
    start = family(problem)
    vector = parameter_vector(start)
    policy = with_parameters(start, vector + 0.3 * np.random.default_rng(1).standard_normal(vector.shape))
    where = {"horizon": HORIZON, "episodes": 300, "seed": 5, "precision": "float64"}
    estimators = {pair: tg.Estimator(*pair.split("/")) for pair in PAIRS}
    conditions = tg.Conditions(available=AVAILABLE)
    reference = tg.episode_gradients(problem, policy, estimators, engine="jax", conditions=conditions, **where)
    for pair, estimator in estimators.items():
        one = {pair: estimator}
        ours = tg.episode_gradients(problem, policy, one, engine="native", conditions=conditions, **where)[pair]
        np.testing.assert_allclose(ours, reference[pair], atol=1e-9 * np.abs(reference[pair]).mean(), err_msg=pair)


@pytest.mark.formulas
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


BERNOULLI = tg.BernoulliBandit(alpha=[1.0, 2.0], beta=[1.0, 1.5])
TINY = {
    "batches": (2, {"batch": 3}, {"batch": 3}),
    "in proportion": (2, {"batch": 3, "allocation": "proportional"}, {"batch": 3, "allocation": "proportional"}),
    "late": (3, {"delay": 1}, {"delay": (0.0, 1.0)}),
    "late or never": (3, {"delay": [0.5, 0.3]}, {"delay": (0.5, 0.3)}),
    "floor and after": (3, {"floor": 0.1, "after": 5}, {"floor": 0.1, "after": 5}),
    "all": (
        2,
        {"batch": 2, "delay": [0.5, 0.3], "floor": 0.1, "after": 5},
        {"batch": 2, "delay": (0.5, 0.3), "floor": 0.1, "after": 5},
    ),
}


@pytest.mark.formulas
@pytest.mark.parametrize(("horizon", "given", "enumerated"), TINY.values(), ids=TINY)
def test_reward_is_that_of_all_outcomes(horizon, given, enumerated):
    """2,048 episodes against the enumeration; six cases together raise one false alarm in a thousand seeds."""
    policy = tg.ReshapedThompson(BERNOULLI)
    with jax.enable_x64(True):
        expected = exact_conditions.value(BERNOULLI, policy, horizon, **enumerated)
    found = tg.simulate(
        BERNOULLI, policy, horizon=horizon, episodes=2048, seed=3, conditions=tg.Conditions(**given)
    ).reward
    assert abs(found.mean() - expected) < z_bound(len(TINY)) * found.std() / np.sqrt(len(found))


@pytest.mark.quick("batches")
@pytest.mark.formulas
@pytest.mark.parametrize("case", ["batches", "floor and after", "all"])
def test_scores_give_the_gradient_of_all_outcomes(case):
    """1,024 episodes, bayes/self by scores: no meta-parameter further off than one false alarm in a thousand seeds."""
    horizon, given, enumerated = TINY[case]
    policy = tg.ReshapedThompson(BERNOULLI, shared=False)
    expected = exact_conditions.gradient(BERNOULLI, policy, horizon, **enumerated)
    found = tg.gradient(
        BERNOULLI,
        policy,
        tg.Estimator("bayes", "self", gradient="score"),
        horizon=horizon,
        episodes=1024,
        seed=3,
        conditions=tg.Conditions(**given),
    )
    assert largest_z(found.mean, expected, found.standard_error) < z_bound(3 * len(expected))


@pytest.mark.formulas
def test_batches_of_sums_are_batches_of_users():
    """20 users drawn as sums against 20 users one by one: first and second moments of both batches' rewards and of the
    pulls (1,024 episodes each way); one false alarm in a thousand seeds.
    """
    problem, number = tg.GaussianBandit(arms=2, noise_std=[0.5, 2.0]), 1024
    where = {"horizon": 2, "episodes": number, "conditions": tg.Conditions(batch=20), "trajectories": True}
    summed = tg.simulate(problem, tg.Thompson(), seed=1, **where).trajectories
    remembering = tg.simulate(problem, Remembering(), seed=2, **where).trajectories
    one = np.concatenate([summed.reward, summed.arm[:, :, 0]], axis=1)
    other = np.concatenate([remembering.reward.sum(axis=2), (remembering.arm.arm == 0).sum(axis=2)], axis=1)
    samples = []
    for values in (one.astype(float), other.astype(float)):
        centred = values - one.mean(axis=0)
        samples.append(np.concatenate([values, (centred[:, :, None] * centred[:, None]).reshape(number, 16)], axis=1))
    error = np.sqrt(sum(sample.var(axis=0) for sample in samples) / number)
    assert largest_z(samples[0].mean(axis=0), samples[1].mean(axis=0), error) < z_bound(20)


class Remembering(SamplesWorlds):
    """Thompson sampling with a memory that it has no use for: its users are simulated one by one."""

    def prepare(self, problem, horizon):
        return self

    def init(self, model):
        return jnp.zeros(())

    def remember(self, memory, context, arm, reward):
        return memory + reward

    def law(self, model, belief, memory, context, clock):
        return model.posterior(belief)

    def trainable(self):
        return False

    def meta_parameters(self):
        return {}


@pytest.mark.formulas
@pytest.mark.parametrize("engine", ["jax", "native"])
def test_conditions_that_say_nothing_change_no_bit(engine):
    trivial = tg.Conditions(batch=[1] * 4, delay=[1.0], floor=0.0, available=np.ones((4, 2), bool), after=0)
    where = {"horizon": 4, "episodes": 64, "seed": 0, "engine": engine}
    policy = tg.BonusThompson(BERNOULLI, degree=1)
    plain = tg.gradient(BERNOULLI, policy, tg.Estimator(), **where)
    same = tg.gradient(BERNOULLI, policy, tg.Estimator(), conditions=trivial, **where)
    np.testing.assert_array_equal(plain.mean, same.mean)
    played = [tg.simulate(BERNOULLI, policy, **where, **more).regret for more in ({}, {"conditions": trivial})]
    np.testing.assert_array_equal(*played)
    assert trivial.told(4).trivial


def test_time_is_counted_in_users():
    conditions = tg.Conditions(batch=[3, 5, 2])
    clocks = [conditions.clock(jnp.int32(step), 3) for step in (1, 2, 3)]
    assert [(int(clock.t), clock.horizon) for clock in clocks] == [(1, 10), (4, 10), (9, 10)]
    assert all(clock.left_with_arms == clock.left for clock in clocks)


@pytest.mark.parametrize(
    "available", [[[1, 3], [2, 2], [3, 3]], [[True, False, False], [True, True, False], [True, False, True]]]
)
def test_users_are_counted_while_an_arm_is_there(available):
    conditions = tg.Conditions(batch=[3, 5, 2], available=available)
    left = [conditions.clock(jnp.int32(step), 3).left_with_arms.tolist() for step in (1, 2, 3)]
    assert left == [[10, 5, 2], [7, 5, 2], [2, 0, 2]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch": [2, 3]}, "batch must be one number or 6, one per step, got 2"),
        ({"batch": 0}, "batch must be an integer from 1 to 2147483647, got 0"),
        ({"delay": [0.5, 0.6]}, "delay must hold probabilities >= 0 that add up to one or less, got [0.5, 0.6]"),
        ({"floor": 0.4}, "floor must be at most 1 / 3, one over the number of arms, got 0.4"),
        ({"after": -1}, "after must be an integer from 0 to 2147483647, got -1"),
        ({"available": [[1, 2], [1, 6]]}, "available must have a first and a last step for each of 3 arms, got shape"),
        ({"available": [[1, 2], [4, 6], [4, 6]]}, "available must have an arm that can be played at step 3, got none"),
    ],
)
def test_conditions_that_do_not_fit_are_refused(given, message):
    with pytest.raises(tg.BadInput) as caught:
        tg.simulate(
            PROBLEMS["gaussian"], tg.Thompson(), horizon=6, episodes=1, seed=0, conditions=tg.Conditions(**given)
        )
    assert str(caught.value).startswith(message)


def test_what_can_not_be_estimated_is_refused():
    def refused(estimator, **given):
        with pytest.raises(tg.BadInput) as caught:
            tg.gradient(
                BERNOULLI,
                tg.BonusThompson(BERNOULLI),
                estimator,
                horizon=2,
                episodes=1,
                seed=0,
                conditions=tg.Conditions(**given),
            )
        return str(caught.value)

    assert "metric 'fin' is for single users" in refused(tg.Estimator("fin", "null"), batch=3)
    assert "baseline 'value' is for single users" in refused(tg.Estimator("obs", "value"), delay=1)
    assert "world must be 'true'" in refused(tg.Estimator("mean", "self", world="posterior"), batch=3)
    wants = tg.Estimator("mean", "self", gradient="score")
    assert "gradient must be 'pathwise'" in refused(wants, batch=3, allocation="proportional")
    assert "is not available here" in refused(tg.Estimator("mean", "self", gradient="pathwise"), delay=1)
    with pytest.raises(tg.BadInput, match="of conditions it knows 'available' alone"):
        tg.simulate(
            BERNOULLI,
            tg.Thompson(),
            horizon=2,
            episodes=1,
            seed=0,
            engine="native",
            conditions=tg.Conditions(batch=2),
        )


def test_conditions_survive_files():
    for conditions in (
        tg.Conditions(),
        tg.Conditions(batch=[2, 3], delay=[0.5, 0.2], floor=0.05, available=[[1, 2], [2, 2]], after=7),
        tg.Conditions(batch=20, allocation="proportional", delay=3),
    ):
        again = tg.Conditions.from_table(json.loads(json.dumps(conditions.table)))
        assert again.table == conditions.table
        assert again.words(2) == conditions.words(2)
