"""The study of estimators: statistics by hand, bias that is found where it is and only there, advice."""

import csv
import io

import numpy as np
import pytest

import tsgrad as tg
from tsgrad.estimate import MeanReward
from tsgrad.evaluate import affordable, estimator_pairs, pairs

PROBLEM = tg.GaussianBandit(noise_std=[0.5, 1.0])
POLICY = tg.ReshapedThompson(PROBLEM)
WHERE = {"horizon": 8, "episodes": 4096, "seed": 5}
PAIRS = [
    f"{metric}/{baseline}" for metric in ("obs", "mean", "fin", "bayes") for baseline in ("null", "oracle", "self")
]


class Doubled(tg.Metric):
    """Twice the mean reward: its gradient is twice the gradient."""

    def values(self, episode, run):
        return 2 * MeanReward().values(episode, run)

    def oracle(self, episode, run):
        return 2 * MeanReward().oracle(episode, run)


@pytest.fixture(scope="module")
def study():
    estimators = {name: tg.Estimator(*name.split("/")) for name in PAIRS}
    return tg.variance_study(PROBLEM, POLICY, {**estimators, "twice": tg.Estimator(Doubled(), "self")}, **WHERE)


@pytest.fixture(scope="module")
def gradients():
    """Each episode's gradients, pair by pair."""
    found = {}
    for name in ("obs/null", "mean/self", "fin/oracle"):
        found |= tg.episode_gradients(PROBLEM, POLICY, {name: tg.Estimator(*name.split("/"))}, **WHERE)
    return found


def report(study, name):
    return next(pair for pair in study.pairs if pair.name == name)


def test_traces_by_hand(study, gradients):
    for name, sample in gradients.items():
        found = report(study, name)
        assert found.trace == pytest.approx(np.trace(np.cov(sample.T)))
        squares = np.sum((sample - sample.mean(axis=0)) ** 2, axis=1)
        assert found.trace_standard_error == pytest.approx(squares.std() / 64, rel=1e-3)
        assert found.episodes == 4096


def test_biases_by_hand(study, gradients):
    """Paired differences from the reference, which here is the most precise of the trusted pairs."""
    trusted = [pair for pair in study.pairs if pair.name.split("/")[0] in ("obs", "mean")]
    assert study.reference == min(trusted, key=lambda pair: pair.trace).name == "mean/self"
    reference = gradients["mean/self"]
    for name, sample in gradients.items():
        found = report(study, name)
        difference = sample - reference
        length = np.linalg.norm(reference.mean(axis=0))
        assert found.bias == pytest.approx(np.linalg.norm(difference.mean(axis=0)) / length)
        if name != "mean/self":
            z = np.abs(difference.mean(axis=0)) / (difference.std(axis=0, ddof=1) / 64)
            assert found.largest_z == pytest.approx(z.max())


def test_bias_is_found_where_it_is(study):
    """None of the unbiased pairs is called biased, at 1 false alarm in 1,000; twice the gradient is."""
    assert [pair.name for pair in study.pairs if study.is_biased(pair)] == ["twice"]
    assert report(study, "twice").bias == pytest.approx(1, abs=4 * report(study, "twice").bias_by_chance)
    assert not report(study, "mean/self").bias


def test_order_and_advice(study):
    costs = [pair.trace * pair.microseconds for pair in study.pairs]
    assert costs == sorted(costs)
    unbiased = [pair for pair in study.pairs if pair.name != "twice"]
    assert study.best == unbiased[0]
    assert study.relative_cost(study.best) == 1
    assert study.advice.startswith(f"Best buy: {unbiased[0].name}; {unbiased[1].name} comes next")
    assert {pair.engine for pair in study.pairs} == {"native", "jax"}


def test_table_and_csv(study):
    text = str(study)
    assert all(pair.name in text for pair in study.pairs)
    assert study.advice in text
    rows = list(csv.DictReader(io.StringIO(study.csv())))
    assert [row["name"] for row in rows] == [pair.name for pair in study.pairs]
    assert float(rows[0]["variance_x_time"]) == pytest.approx(float(rows[0]["trace"]) * float(rows[0]["microseconds"]))
    assert [row["biased"] for row in rows].count("True") == 1


def test_pairs_on_offer():
    known = estimator_pairs(PROBLEM, rollouts=3, lookaheads=2)
    assert len(known) == 20
    assert (known["obs/self"].rollouts, known["q/null"].metric.lookaheads) == (3, 2)
    assert len(affordable(known, 10)) == 20
    assert set(affordable(known, 100_000)) == set(PAIRS)


@pytest.mark.long
def test_look_aheads_get_fewer_episodes_where_they_play_many_steps(monkeypatch):
    monkeypatch.setattr(pairs, "_LOOK_AHEAD_STEPS", 300 * 8 * 36)  # of 300 episodes, 8 look-aheads, 8 steps
    estimators = {name: tg.Estimator(*name.split("/")) for name in ("mean/self", "mean/value")}
    found = tg.variance_study(PROBLEM, POLICY, estimators, **{**WHERE, "episodes": 768})
    assert report(found, "mean/self").episodes == 768
    assert report(found, "mean/value").episodes == 256


def test_names_that_look_like_markup(study):
    """Pairs are called what users call them."""
    named = study._replace(pairs=(study.pairs[0]._replace(name="[/x]\x1b[1m"),), reference="[/y]")
    text = str(named)
    assert "[/x][1m" in text
    assert "[/y]" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("policy", "pairs", "options", "message"),
    [
        (tg.Thompson(), ["obs/null"], {}, "policy must have meta-parameters for a study of gradients, got Thompson"),
        (
            POLICY,
            ["q/value"],
            {},
            r"estimators must include one that is unbiased even if the model is wrong, .* got q/value",
        ),
        (POLICY, ["obs/null"], {"horizon": 0}, "horizon must be an integer >= 1, got 0"),
        (POLICY, ["obs/null"], {"episodes": 1}, "episodes must be an integer >= 2, got 1"),
    ],
)
def test_bad_input(policy, pairs, options, message):
    estimators = {name: tg.Estimator(*name.split("/")) for name in pairs}
    with pytest.raises(tg.BadInput, match=message):
        tg.variance_study(PROBLEM, policy, estimators, **{**WHERE, **options})
