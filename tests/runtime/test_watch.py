"""The alarm: silent where the model is right, raised where its prior is wrong or rewards drift."""

import re

import numpy as np
import pytest

from tsgrad_runtime.agent import Agent
from tsgrad_runtime.artefact import artefact_of
from tsgrad_runtime.events import Event
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
        paid = float(generator.random() < rates[agent.arms.index(decision.arm)])
        event = Event("reward", 0.0, decision.id, decision.arm, reward=paid)
        watch.see(agent, event)
        agent.apply(event)
    return watch.alarm(agent)


def test_a_right_model_raises_no_alarm():
    """Each of 20 raises one falsely once in 10,000 times."""
    for seed in range(20):
        drawn = np.random.default_rng(100 + seed).beta(4.0, 16.0, 3)
        assert watched(lambda step, generator, drawn=drawn: drawn, steps=200, seed=seed) is None


@pytest.mark.parametrize(
    ("rate", "word"),
    [
        (lambda step, generator: [0.85] * 3, "prior"),
        (lambda step, generator: [0.6 if step == 0 else 0.1] * 3, "drift|prior"),
    ],
)
def test_wrong_priors_and_drifts_are_told(rate, word):
    assert re.search(word, watched(rate))
