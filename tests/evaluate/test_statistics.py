"""Paired statistics: by hand, and how often they are right, by simulation on cases of known truth."""

import numpy as np
import pytest
from scipy import stats

import tsgrad as tg
from false_alarms import z_bound
from tsgrad.evaluate.statistics import _step_down, mean_and_error, paired_gains, worst_decile


def test_one_gain_is_the_paired_t_test():
    generator = np.random.default_rng(0)
    reference, other = generator.normal(size=30), generator.normal(-0.4, 1, 30)
    gain = paired_gains(reference, {"other": other}, 0.9)["other"]
    found = stats.ttest_rel(reference, other)
    interval = found.confidence_interval(0.9)
    assert gain.mean == pytest.approx(np.mean(reference - other))
    assert gain.p_value == pytest.approx(found.pvalue)
    assert (gain.low, gain.high) == pytest.approx((interval.low, interval.high))
    assert gain.half_width == pytest.approx((interval.high - interval.low) / 2)


def test_three_gains_by_hand():
    """Intervals at level 0.95^(1/3); p-values p1, p2, p3 in order become 1-(1-p1)^3, 1-(1-p2)^2, p3, kept in order."""
    generator = np.random.default_rng(1)
    reference = generator.normal(size=50)
    others = {name: generator.normal(-shift, 1, 50) for name, shift in {"a": 0.1, "b": 0.6, "c": 0.3}.items()}
    gains = paired_gains(reference, others, 0.95)
    raw = {name: stats.ttest_rel(reference, other).pvalue for name, other in others.items()}
    width = stats.t.ppf((1 + 0.95 ** (1 / 3)) / 2, 49)
    smallest, middle, largest = sorted(raw, key=raw.get)
    expected = {smallest: 1 - (1 - raw[smallest]) ** 3}
    expected[middle] = max(expected[smallest], 1 - (1 - raw[middle]) ** 2)
    expected[largest] = max(expected[middle], raw[largest])
    for name, gain in gains.items():
        assert gain.p_value == pytest.approx(expected[name])
        assert gain.high - gain.mean == pytest.approx(width * gain.standard_error)
        assert gain.mean - gain.low == pytest.approx(width * gain.standard_error)


def test_policies_that_never_differ_or_always_by_the_same():
    reference = np.arange(5.0)
    gains = paired_gains(reference, {"same": reference, "less": reference - 2}, 0.95)
    assert gains["same"] == (0, 0, 0, 0, 1)
    assert gains["less"] == (2, 0, 2, 2, 0)
    assert paired_gains(reference, {}, 0.95) == {}


def test_tails_by_hand():
    sample = np.random.default_rng(2).permutation(np.arange(100.0))
    assert worst_decile(sample) == np.mean(np.arange(90, 100))
    assert worst_decile(np.array([3.0, 1.0])) == 3
    assert worst_decile(np.arange(11.0)) == 9.5  # a tenth, rounded up: two episodes
    assert mean_and_error(sample) == pytest.approx((49.5, np.std(sample, ddof=1) / 10))


def test_what_is_no_number_is_no_certainty():
    """A p-value that could not be computed counts as one; a sample that holds NaN is refused, with its name."""
    assert _step_down({"a": float("nan"), "b": 0.01}) == pytest.approx({"a": 1.0, "b": 1 - 0.99**2})
    sample = np.array([1.0, 2.0, np.nan])
    with pytest.raises(tg.BadInput, match="regret of policy 'other' is nan in episode 2"):
        paired_gains(np.ones(3), {"other": sample}, 0.95)
    with pytest.raises(tg.BadInput, match="regret of the reference is nan in episode 2"):
        paired_gains(sample, {"other": np.ones(3)}, 0.95)


def simulated(replications, reference_spread):
    """How often all of five intervals hold, and none of five true nulls is rejected, for normal samples [30]."""
    generator = np.random.default_rng(3)
    held = kept = 0
    for _ in range(replications):
        reference = reference_spread * generator.normal(size=30)
        gains = paired_gains(reference, {str(i): generator.normal(size=30) for i in range(5)}, 0.95)
        held += all(gain.low <= 0 <= gain.high for gain in gains.values())
        kept += min(gain.p_value for gain in gains.values()) >= 0.05
    return held / replications, kept / replications


def test_coverage_of_independent_gains_is_exact():
    """Sidak's level is exact here: both frequencies within z of 0.95, 2 comparisons, 1 false alarm in 1,000."""
    replications = 4000
    error = np.sqrt(0.95 * 0.05 / replications)
    for frequency in simulated(replications, reference_spread=0.0):
        assert abs(frequency - 0.95) < z_bound(2) * error


def test_coverage_of_gains_over_one_noisy_reference():
    """Correlated gains: no less than 0.95 by z, 2 comparisons, 1 false alarm in 1,000; and not much more."""
    replications = 4000
    error = np.sqrt(0.95 * 0.05 / replications)
    for frequency in simulated(replications, reference_spread=1.0):
        assert 0.95 - z_bound(2) * error < frequency < 0.98
