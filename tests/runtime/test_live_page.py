"""What the live page and its data say of the arms: intervals by the arms' own laws, and digits that tell them apart."""

import numpy as np
import pytest
from scipy import stats

from tsgrad_runtime.artefact import artefact_of
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.intervals import central_intervals
from tsgrad_runtime.ledger import Ledger
from tsgrad_runtime.live_page import experiment_summary, live_page
from tsgrad_runtime.models import model_of

ENDS = np.array([[0.025], [0.975]])


def intervals(problem):
    model = model_of(problem)
    return model.values(central_intervals(model.posterior(model.prior(), None)))


def test_intervals_are_the_quantiles_of_the_arms_own_laws():
    alpha, beta = np.array([4.0, 1.0, 1000.0, 2e9]), np.array([96.0, 1.0, 5.0, 3e9])
    own = intervals({"kind": "bernoulli", "alpha": alpha.tolist(), "beta": beta.tolist()})
    np.testing.assert_allclose(own, stats.beta.ppf(ENDS, alpha, beta), rtol=3e-4)
    shape, rate = np.array([1.0, 30.0, 1e6]), np.array([2.0, 0.1, 3.0])
    own = intervals({"kind": "poisson", "shape": shape.tolist(), "rate": rate.tolist()})
    np.testing.assert_allclose(own, stats.gamma.ppf(ENDS, shape, scale=1 / rate), rtol=3e-4)
    own = intervals({"kind": "gaussian", "prior_mean": [100.2], "prior_std": [0.15], "noise_std": [1.0]})
    np.testing.assert_allclose(own, 100.2 + 0.15 * stats.norm.ppf(ENDS), rtol=1e-6)
    table = {"prior_mean": [0.0, 1.0], "prior_weight": [1.0, 4.0], "shape": [1.0, 3.0], "rate": [1.0, 2.0]}
    scale = np.sqrt(np.array([1.0, 2.0]) / (np.array([1.0, 3.0]) * np.array([1.0, 4.0])))
    student = stats.t.ppf(ENDS, [2.0, 6.0], [0.0, 1.0], scale)
    np.testing.assert_allclose(intervals({"kind": "unknown-variance", **table}), student, rtol=1e-3, atol=1e-3)


@pytest.fixture
def page(tmp_path):
    opened = []

    def shown(problem, count, rewards=()):
        content = {"policy": {"kind": "thompson"}, "problem": problem, "horizon": 100}
        opened.append(Ledger(f"sqlite:///{tmp_path / 'ledger.db'}"))
        one = Experiment(artefact_of(content, "test"), opened[-1])
        assert len(one.agent.arms) == count
        for number, reward in enumerate(rewards):
            one.append([Event("decision", 0.0, str(number), "0"), Event("reward", 0.0, str(number), reward=reward)])
        return live_page(one), experiment_summary(one)

    yield shown
    for ledger in opened:
        ledger.close()


def test_rare_clicks_have_an_interval_that_is_not_symmetric(page):
    text, known = page({"kind": "bernoulli", "alpha": [4.0], "beta": [96.0]}, 1)
    assert "0.040<br><small>0.011 to 0.086</small>" in text
    np.testing.assert_allclose(known["arms"][0]["interval"], [0.01112, 0.08601], atol=1e-5)


def test_numbers_have_the_digits_that_tell_arms_apart(page):
    """A mean of 100.2 once read 100, between 1e+02 and 1e+02."""
    problem = {"kind": "gaussian", "prior_mean": [100.2], "prior_std": [0.15], "noise_std": [0.3]}
    text, _ = page(problem, 1, [100.3, 100.1])
    assert "<td>100.20</td><td>100.20<br><small>99.96 to 100.44</small>" in text
    assert "100.2 on average" in text


def test_arms_are_in_the_order_of_the_policy(page):
    text, _ = page({"kind": "bernoulli", "alpha": [1.0] * 12, "beta": [1.0] * 12}, 12)
    places = [text.index(f"<tr><td>{number}</td>") for number in range(12)]
    assert places == sorted(places)


def test_numbers_too_large_for_a_density_leave_the_page_there(page):
    problem = {"kind": "poisson", "shape": [1.0, 1e-9], "rate": [1.0, 1e9]}
    text, known = page(problem, 2, [1e15])
    assert np.isfinite([arm["interval"] for arm in known["arms"]]).all()
    assert "e+14" in text
