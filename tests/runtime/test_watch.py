"""The alarm: silent where the model is right, raised where its prior is wrong or rewards drift."""

import re

import numpy as np
import pytest

from tsgrad_runtime.agent import Agent
from tsgrad_runtime.artefact import artefact_of
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.ledger import Ledger
from tsgrad_runtime.live_page import experiment_summary
from tsgrad_runtime.watch import Watch

CONTENT = {
    "policy": {"kind": "thompson"},
    "problem": {"kind": "bernoulli", "alpha": [4.0] * 3, "beta": [16.0] * 3},
    "horizon": 10_000,
    "arms": ["a", "b", "c"],
}


def watched(rate, steps=600, seed=0):
    """The alarm after an experiment whose arms pay with chances rate(step, generator)."""
    agent, watch, generator = Agent(artefact_of(CONTENT, "test"), seed=seed), Watch(), np.random.default_rng(seed)
    rates = rate(0, generator)
    for step in range(steps):
        decision = agent.decide()
        rates = rate(step, generator) if step == steps // 2 else rates
        paid = float(generator.random() < rates[agent.roster.number(decision.arm)])
        event = Event("reward", 0.0, decision.id, decision.arm, reward=paid)
        watch.see(agent, event)
        agent.apply(event)
    return watch.alarm(agent)


def test_a_right_model_raises_no_alarm():
    """Each of 20 raises one falsely once in 10,000 times."""
    for seed in range(20):
        drawn = np.random.default_rng(100 + seed).beta(4.0, 16.0, 3)
        assert watched(lambda step, generator, drawn=drawn: drawn, steps=200, seed=seed) is None


@pytest.mark.parametrize("settings", [{"conditions": {"batch": 300}, "horizon": 2}, {}])
def test_a_right_model_raises_no_alarm_in_batches(settings):
    """Rewards of a batch come before the belief is renewed. Each of 40 raises an alarm falsely once in 10,000 times:
    one of them, once in 250 seeds. By the belief of a batch's start, three in four did.
    """
    problem = {"kind": "bernoulli", "alpha": [1.0] * 3, "beta": [1.0] * 3}
    artefact = artefact_of({**CONTENT, "problem": problem, **settings}, "test")
    for seed in range(40):
        agent, watch = Agent(artefact, seed=seed, batch=None if settings else 300), Watch()
        generator = np.random.default_rng(200 + seed)
        rates = generator.random(4)
        for step in range(600):
            if step == 150 and seed % 2:  # an arm more, in the middle of a batch
                added = Event("arm", 0.0, arm="d", parameters={})
                watch.see(agent, added)
                agent.apply(added)
            decision = agent.decide()
            paid = float(generator.random() < rates[agent.roster.number(decision.arm)])
            event = Event("reward", 0.0, decision.id, decision.arm, reward=paid)
            watch.see(agent, event)
            agent.apply(event)
        assert watch.alarm(agent) is None
        if seed % 2 == 0:
            agent.decide(users=300)  # renews the belief with what the watch knows already
            np.testing.assert_array_equal(watch.believed(agent)[0], agent.belief[0])


@pytest.mark.parametrize(
    ("rate", "word"),
    [
        (lambda step, generator: [0.85] * 3, "prior"),
        (lambda step, generator: [0.6 if step == 0 else 0.1] * 3, "drift|prior"),
    ],
)
def test_wrong_priors_and_drifts_are_told(rate, word):
    assert re.search(word, watched(rate))


def alarm_of(problem, reward, steps, seed=0, arms=10):
    """The alarm after arms were played by turns, whose rewards are reward(step, arm, generator)."""
    artefact = artefact_of({"policy": {"kind": "uniform"}, "problem": problem, "horizon": steps}, "test")
    agent, watch, generator = Agent(artefact, seed=0), Watch(), np.random.default_rng(seed)
    for step in range(steps):
        arm = step % arms
        event = Event("reward", 0.0, f"{step}", str(arm), reward=float(reward(step, arm, generator)))
        watch.see(agent, event)
        agent.apply(event)
    return watch.alarm(agent)


RARE = {"kind": "bernoulli", "alpha": [4.0] * 10, "beta": [96.0] * 10}


def test_a_right_model_of_rare_rewards_raises_no_alarm():
    """Each of 40 ever has one falsely once in 10,000 times. By a normal approximation, two had one at their end."""
    for seed in range(40):
        rates = np.random.default_rng(300 + seed).beta(4.0, 96.0, 10)
        assert alarm_of(RARE, lambda step, arm, generator, r=rates: generator.random() < r[arm], 2000, seed) is None


@pytest.mark.parametrize(
    ("reward", "words"),
    [
        (lambda step, arm, generator: generator.random() < (0.4 if arm == 3 else 0.04), "3 is better than its prior"),
        (lambda step, arm, generator: False, "not what the prior allows"),
        (lambda step, arm, generator: generator.random() < (0.03 if step < 4000 else 0.12), "all arms .* a drift"),
    ],
)
def test_misfits_of_rare_rewards_are_told(reward, words):
    assert re.search(words, alarm_of(RARE, reward, 8000))


def test_what_lies_far_beyond_a_prior_is_told_with_a_number():
    """Where quadrature finds no chance at all, its message says how rare that is, not that it never happens."""
    for reward in (lambda step, arm, generator: arm == 3, lambda step, arm, generator: generator.random() < 0.6):
        assert re.search(r"once in 10\^\d+ experiments", alarm_of(RARE, reward, 2000))


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_arms_with_features_are_watched_too(kind):
    """Arm 0 pays as its features say, or more than they do."""
    noise = {"noise_std": [1.0] * 3} if kind == "linear" else {}
    features = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    problem = {"kind": kind, "features": features, "prior_mean": [0.0] * 2, "prior_covariance": np.eye(2).tolist()}

    def paying(extra):
        def reward(step, arm, generator):
            expected = np.array(features[arm]) @ [0.5, -0.5] + extra * (arm == 0)
            return (
                generator.random() < 1 / (1 + np.exp(-expected)) if kind == "logistic" else generator.normal(expected)
            )

        return reward

    assert alarm_of({**problem, **noise}, paying(0.0), 400, arms=3) is None
    assert re.search(
        "higher than expected|lower than expected", alarm_of({**problem, **noise}, paying(4.0), 400, arms=3)
    )


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_an_arm_without_features_raises_no_alarm_and_hides_none(kind):
    """Nothing was to be learned of it, which was told as an alarm that is raised once in 10^nan experiments."""
    problem = {"kind": kind, "features": [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "prior_mean": [0.0] * 2}
    problem |= {"prior_covariance": np.eye(2).tolist()} | ({"noise_std": [1.0] * 3} if kind == "linear" else {})

    def reward(step, arm, generator):
        return generator.random() < 0.5 if kind == "logistic" else generator.normal()

    def drifting(step, arm, generator):
        return arm == 0 and (step < 1000 or generator.random() < 0.5)

    assert alarm_of(problem, reward, 400, arms=3) is None
    assert re.search("Rewards of 0 are higher", alarm_of(problem, drifting, 400, arms=3))


def test_rewards_are_counted_where_every_vector_is_an_arm(tmp_path):
    ball = {"kind": "ball", "prior_mean": [0.0] * 2, "prior_covariance": np.eye(2).tolist(), "noise_std": 1.0}
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    experiment = Experiment(
        artefact_of({"policy": {"kind": "thompson"}, "problem": ball, "horizon": 9}, "test"), ledger
    )
    for reward in (1.0, 4.0):
        decision = experiment.agent.propose(experiment.agent.scene())
        experiment.append([Event("decision", 0.0, decision.id, decision.arm)])
        experiment.append([Event("reward", 0.0, decision.id, reward=reward)])
    known = experiment_summary(experiment)
    assert (known["decisions"], known["rewards"], known["average"]) == (2, 2, 2.5)
    ledger.close()


def delayed(rate, *, prior, steps, seed, wait=100.0):
    """The first alarm of an experiment in which a click is reported at once, and counts as none after a wait."""
    content = {**CONTENT, "problem": {"kind": "bernoulli", "alpha": [prior[0]] * 3, "beta": [prior[1]] * 3}}
    now = [0.0]
    agent = Agent(artefact_of(content, "test"), seed=seed, wait=wait, clock=lambda: now[0])
    agent.keeps_open = False
    watch, generator, waiting = Watch(), np.random.default_rng(seed), []
    rates = rate(generator)

    def happens(event):
        watch.see(agent, event)
        agent.apply(event)

    for step in range(steps):
        now[0] = float(step)
        while waiting and waiting[0][0] <= step - wait:
            _, decision, arm = waiting.pop(0)
            happens(Event("default", now[0], decision, arm, reward=0.0))
        decision = agent.propose(agent.scene())
        happens(Event("decision", now[0], decision.id, decision.arm))
        if generator.random() < rates[agent.roster.number(decision.arm)]:
            happens(Event("reward", now[0], decision.id, decision.arm, reward=1.0))
        else:
            waiting.append((step, decision.id, decision.arm))
        if alarm := watch.alarm(agent):
            return alarm
    return None


def test_clicks_that_come_before_their_absence_raise_no_alarm():
    """Each of 10 raises one falsely once in 10,000 times. By the order of rewards all of them did: of the first hundred
    decisions, nothing but clicks was known.
    """
    for seed in range(10):
        assert (
            delayed(lambda generator: generator.beta(40.0, 60.0, 3), prior=(40.0, 60.0), steps=300, seed=seed) is None
        )


def test_a_wrong_prior_is_found_where_rewards_wait():
    assert "prior" in delayed(lambda generator: [0.9] * 3, prior=(4.0, 96.0), steps=600, seed=0)


def test_of_what_comes_too_fast_some_is_followed(monkeypatch):
    monkeypatch.setattr("tsgrad_runtime.watch.MOST_FOLLOWED", 20)
    assert "prior" in delayed(lambda generator: [0.9] * 3, prior=(4.0, 96.0), steps=1500, seed=0)
