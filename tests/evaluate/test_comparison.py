"""Comparisons: paired differences, tables."""

import numpy as np
import pytest

import tsgrad as tg
from tsgrad.policies import parameter_vector, with_parameters

PROBLEM = tg.GaussianBandit(noise_std=[0.1, 1.0, 4.0])


@pytest.fixture(scope="module")
def comparison():
    start = tg.ReshapedThompson(PROBLEM)
    other = with_parameters(start, parameter_vector(start) - 0.5)
    return tg.compare(PROBLEM, {"plain": tg.Thompson(), "other": other}, horizon=10, episodes=4000, seed=3)


def test_means_and_errors(comparison):
    sample = comparison.episodes["other"].regret
    assert comparison.regret["other"] == sample.mean()
    assert comparison.standard_error["other"] == pytest.approx(sample.std(ddof=1) / np.sqrt(4000))


def test_differences_are_paired(comparison):
    mean, error = comparison.difference("plain", "other")
    assert mean == pytest.approx(comparison.regret["plain"] - comparison.regret["other"])
    unpaired = np.hypot(comparison.standard_error["plain"], comparison.standard_error["other"])
    assert 0 < error < 0.9 * unpaired
    assert comparison.difference("other", "plain") == (-mean, error)


def test_curves_and_pulls(comparison):
    assert comparison.regret_over_time["plain"].shape == (10,)
    assert comparison.pulls["plain"].sum() == pytest.approx(10)


def test_prints_as_a_table(comparison):
    text = str(comparison)
    for part in ("plain", "other", f"{comparison.regret['other']:.3f}", "4,000 common episodes"):
        assert part in text


def test_unknown_name(comparison):
    with pytest.raises(tg.BadInput, match=r"policy must be one of plain, other, got 'pain' \(did you mean 'plain'\?\)"):
        comparison.difference("plain", "pain")


def test_no_policies():
    with pytest.raises(tg.BadInput, match="policies must name at least one policy"):
        tg.compare(PROBLEM, {}, horizon=2, episodes=5, seed=0)
