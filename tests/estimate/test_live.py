"""Gradients from recorded episodes: those of the simulator, without its world."""

from functools import partial

import numpy as np
import pytest

import tsgrad as tg
from false_alarms import z_bound
from tsgrad.streams import Purpose

pytestmark = pytest.mark.formulas

GAUSSIAN = tg.GaussianBandit(prior_mean=[0, 0.3, 0], noise_std=[0.5, 1, 2])
CASES = {
    "gaussian": (GAUSSIAN, tg.ReshapedThompson),
    "contexts, recurrent": (
        tg.LinearBandit(features=tg.GaussianContexts(arms=4, dimension=3)),
        partial(tg.RecurrentThompson, hidden=3),
    ),
}
ESTIMATORS = {
    pair: tg.Estimator(*pair.split("/"), world="posterior") for pair in ("obs/null", "mean/self", "bayes/oracle")
}


def recorded(problem, policy, **options):
    runs = tg.simulate(problem, policy, trajectories=True, purpose=Purpose.TRAINING, **options).trajectories
    return tg.Recorded.of(runs)


@pytest.mark.quick("gaussian")
@pytest.mark.parametrize(("problem", "build"), CASES.values(), ids=CASES)
def test_recorded_episodes_give_the_simulators_gradients(problem, build):
    """Of episodes that the simulator played, at the same addresses: episode by episode the same numbers."""
    policy = build(problem)
    where = {"seed": 3, "precision": "float64"}
    live = recorded(problem, policy, horizon=6, episodes=300, **where)
    simulated = tg.episode_gradients(problem, policy, ESTIMATORS, horizon=6, episodes=300, **where)
    found = tg.recorded_gradients(problem, policy, ESTIMATORS, live, **where)
    for pair in ESTIMATORS:
        np.testing.assert_allclose(found[pair], simulated[pair], rtol=1e-12, atol=1e-12)


@pytest.mark.long
def test_mean_and_covariance_are_the_simulators():
    """Recorded episodes against other, simulated ones with the true world at hand, 60,000 of each.

    Means of 12 coordinates, second moments along 12 axes and 12 directions, of two pairs: 72 comparisons, a false
    alarm once in 1,000 seeds.
    """
    policy = tg.ReshapedThompson(GAUSSIAN)
    live = recorded(GAUSSIAN, policy, horizon=5, episodes=60_000, seed=4)
    estimators = {pair: tg.Estimator(*pair.split("/")) for pair in ("mean/self", "bayes/oracle")}
    found = tg.recorded_gradients(GAUSSIAN, policy, estimators, live, seed=5)
    simulated = tg.episode_gradients(GAUSSIAN, policy, estimators, horizon=5, episodes=60_000, seed=6)
    directions = np.concatenate([np.eye(12), np.random.default_rng(7).standard_normal((12, 12))])
    for pair in estimators:
        samples = [
            np.concatenate([sample, (sample @ directions.T) ** 2], axis=1) for sample in (found[pair], simulated[pair])
        ]
        error = np.sqrt(sum(sample.var(axis=0) / len(sample) for sample in samples))
        z = (samples[0].mean(axis=0) - samples[1].mean(axis=0)) / error
        assert np.max(np.abs(z)) < z_bound(72), pair


def test_plain_values_of_draws_will_do():
    """What a log file holds: float64 values. The gradient is that of the full record, to their rounding."""
    policy = tg.ReshapedThompson(GAUSSIAN)
    live = recorded(GAUSSIAN, policy, horizon=4, episodes=50, seed=8, precision="float64")
    draw = live.pseudo_action
    values = draw.location + draw.scale * draw.residual
    estimator = tg.Estimator("mean", "self")
    full, plain = (
        tg.gradient_from_episodes(GAUSSIAN, policy, estimator, episodes, seed=9, precision="float64")
        for episodes in (live, live._replace(pseudo_action=values))
    )
    np.testing.assert_allclose(plain.mean, full.mean, rtol=1e-9)
    assert plain.names == full.names
    assert plain.regret == pytest.approx(full.regret)


def test_draws_that_lead_to_other_arms_are_refused():
    """A gradient at draws that had no part in the choice would be wrong without a word."""
    played = tg.simulate(GAUSSIAN, tg.Thompson(), horizon=3, episodes=40, seed=0, trajectories=True).trajectories
    wrong = tg.Recorded.of(played._replace(arm=(played.arm + 1) % 3))
    policy = tg.ReshapedThompson(GAUSSIAN)
    for found in (
        lambda: tg.gradient_from_episodes(GAUSSIAN, policy, tg.Estimator("mean", "self"), wrong, seed=0),
        lambda: tg.diagnose(GAUSSIAN, policy, wrong),
    ):
        with pytest.raises(tg.BadInput, match=r"episodes.arm\[0, 0\] is not the arm that episodes.pseudo_action"):
            found()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pseudo_action": None}, "episodes.pseudo_action must hold what the policy drew"),
        ({"reward": 0.5}, r"episodes.reward\[0, 0\] must be 0 or 1, got 0.5"),
        ({"context": np.nan}, r"episodes.context\[0, 0, 0\] must be finite"),
    ],
)
def test_records_that_no_policy_can_have_left(change, message):
    problem = tg.BernoulliBandit(arms=2)
    played = tg.Recorded.of(
        tg.simulate(problem, tg.Thompson(), horizon=2, episodes=3, seed=0, trajectories=True).trajectories
    )
    full = {
        name: None if value is None else np.full((3, 2, 1) if name == "context" else (3, 2), value)
        for name, value in change.items()
    }
    with pytest.raises(tg.BadInput, match=message):
        tg.gradient_from_episodes(
            problem, tg.ReshapedThompson(problem), tg.Estimator("obs", "null"), played._replace(**full), seed=0
        )


def test_bad_episodes():
    problem = tg.BernoulliBandit(arms=2)
    policy, estimator = tg.ReshapedThompson(problem), tg.Estimator("mean", "self")
    live = recorded(problem, policy, horizon=3, episodes=4, seed=0)
    values = np.asarray(live.pseudo_action.value)

    def wrong(field, change):
        changed = np.array(getattr(live, field) if field != "pseudo_action" else values)
        return live._replace(**{field: change(changed)})

    def put(array, where, value):
        array[where] = value
        return array

    cases = [
        (live._replace(pseudo_action=None), "episodes.pseudo_action must hold what the policy drew, got nothing"),
        (wrong("arm", lambda arm: put(arm, (2, 1), 5)), r"episodes.arm\[2, 1\] must be an arm from 0 to 1, got 5"),
        (wrong("arm", lambda arm: arm.astype(float)), "episodes.arm must hold whole numbers, got float64"),
        (wrong("reward", lambda reward: put(reward, (1, 2), np.nan)), r"episodes.reward\[1, 2\] must be finite"),
        (wrong("reward", lambda reward: reward[0]), r"episodes.reward must have axes \[N, T\]"),
        (wrong("arm", lambda arm: arm[:, :2]), r"episodes.arm must have axes \[N, T\] first, \(4, 3\)"),
        (
            wrong("pseudo_action", lambda draw: put(draw, (3, 0, live.arm[3, 0]), 1.5)),
            r"episodes.pseudo_action\[3, 0\] has zero density under this policy",
        ),
    ]
    for episodes, message in cases:
        with pytest.raises(tg.BadInput, match=message):
            tg.gradient_from_episodes(problem, policy, estimator, episodes, seed=0)
