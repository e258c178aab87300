"""Comparisons: statistics of common episodes, tables and files, and sampling to a precision."""

import csv
import io
import json
import re

import numpy as np
import pytest
from scipy import stats

import tsgrad as tg
from false_alarms import z_bound
from tsgrad.evaluate import comparing as module
from tsgrad.evaluate.tables import as_text
from tsgrad.policies import Memoryless, parameter_vector, with_parameters
from tsgrad.simulation import Episodes

PROBLEM = tg.GaussianBandit(noise_std=[0.1, 1.0, 4.0])
START = tg.ReshapedThompson(PROBLEM)
POLICIES = {
    "plain": tg.Thompson(),
    "other": with_parameters(START, parameter_vector(START) - 0.5),
    "greedy_50%": tg.IndexPolicy(table=np.zeros((1, 10, 10))),
}


@pytest.fixture(scope="module")
def comparison():
    return tg.compare(PROBLEM, POLICIES, horizon=10, episodes=4000, seed=3)


@pytest.fixture(scope="module")
def exported(comparison):
    """The regret of every episode as it is written to a file."""
    rows = list(csv.DictReader(io.StringIO(comparison.episodes_csv())))
    assert [int(row["episode"]) for row in rows] == list(range(4000))
    return {name: np.array([float(row[name]) for row in rows]) for name in POLICIES}


def test_means_and_errors(comparison, exported):
    for name, sample in exported.items():
        np.testing.assert_array_equal(sample, comparison.regrets[name])
        assert comparison.regret[name] == sample.mean()
        assert comparison.standard_error[name] == pytest.approx(sample.std(ddof=1) / np.sqrt(4000))


def test_tails(comparison, exported):
    for name, sample in exported.items():
        found = comparison.policies[name]
        assert found.worst_decile == pytest.approx(np.sort(sample)[-400:].mean())
        assert found.quantiles == pytest.approx(np.quantile(sample, [0.5, 0.9, 0.99]))


def test_gains(comparison, exported):
    """Against the paired t test, two policies: intervals at level sqrt(0.95)."""
    assert list(comparison.gains) == ["other", "greedy_50%"]
    for name, gain in comparison.gains.items():
        found = stats.ttest_rel(exported["plain"], exported[name])
        interval = found.confidence_interval(np.sqrt(0.95))
        assert (gain.mean, gain.standard_error) == comparison.difference("plain", name)
        assert (gain.low, gain.high) == pytest.approx((interval.low, interval.high))
        assert found.pvalue <= gain.p_value <= 1 - (1 - found.pvalue) ** 2 + 1e-15


def test_differences_are_paired(comparison):
    mean, error = comparison.difference("plain", "other")
    assert mean == pytest.approx(comparison.regret["plain"] - comparison.regret["other"])
    unpaired = np.hypot(comparison.standard_error["plain"], comparison.standard_error["other"])
    assert 0 < error < 0.9 * unpaired
    assert comparison.difference("other", "plain") == (-mean, error)


def test_another_reference(comparison):
    other = tg.compare(PROBLEM, POLICIES, horizon=10, episodes=4000, seed=3, reference="other", bound=None)
    assert list(other.gains) == ["plain", "greedy_50%"]
    assert other.gains["plain"].mean == -comparison.gains["other"].mean
    assert other.bound is None


def test_curves_and_pulls(comparison):
    for found in comparison.policies.values():
        assert found.regret_over_time.shape == (10,)
        assert found.regret_over_time[-1] == pytest.approx(found.regret, rel=1e-5)
        assert found.pulls.sum() == pytest.approx(10)


def test_the_bound_beside_it(comparison):
    assert comparison.bound == tg.regret_bound(PROBLEM, horizon=10, kind="V-Zero", episodes=512, seed=3)
    for name in POLICIES:
        error = np.hypot(comparison.standard_error[name], comparison.bound.standard_error)
        assert comparison.regret[name] > comparison.bound.regret - 3 * error
    coins = tg.compare(tg.BernoulliBandit(arms=2), {"plain": tg.Thompson()}, horizon=10, episodes=100, seed=0)
    assert (coins.bound.kind, round(coins.bound.regret, 4)) == ("optimum", 0.6449)


def test_decisions_are_timed_where_that_is_asked_for(comparison, monkeypatch):
    """Column, field and cost are there with `timing` alone."""
    for shown in (str(comparison), comparison.csv(), json.dumps(comparison.data())):
        assert not re.search("µs|microseconds|cost of a decision", shown)
    played = []
    simulated = module.simulated
    monkeypatch.setattr(module, "simulated", lambda *given: played.append(given) or simulated(*given))
    where = {"horizon": 10, "episodes": 300, "seed": 3, "bound": None}
    tg.compare(PROBLEM, POLICIES, **where)
    assert len(played) == len(POLICIES)
    timed = tg.compare(PROBLEM, POLICIES, **where, timing=True)
    assert all(0 < found.microseconds < 1e4 for found in timed.policies.values())
    assert "µs" in str(timed)
    assert '"microseconds"' in json.dumps(timed.data())
    assert "microseconds" in timed.csv().splitlines()[0].split(",")
    assert timed.gains == tg.compare(PROBLEM, POLICIES, **where).gains


def test_prints_as_a_table(comparison):
    text = str(comparison)
    for part in ("plain", "other", f"{comparison.regret['other']:.3f}", "4,000 common episodes", "V-Zero bound"):
        assert part in text
    gain = comparison.gains["other"]
    assert f"{gain.low:.3f} to {gain.high:.3f}" in text
    assert f"{comparison.policies['other'].worst_decile:.2f}" in text


def test_csv_comes_back(comparison, tmp_path):
    comparison.to_csv(tmp_path / "table.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "table.csv").read_text())))
    assert [row["policy"] for row in rows] == list(POLICIES)
    for row in rows:
        assert float(row["regret"]) == comparison.regret[row["policy"]]
        assert float(row["bound_regret"]) == comparison.bound.regret
        assert (row["horizon"], row["episodes"], row["seed"]) == ("10", "4000", "3")
        pulls = comparison.policies[row["policy"]].pulls
        assert [float(row[f"pulls_{arm}"]) for arm in range(3)] == pulls.tolist()
    assert rows[0]["gain_mean"] == ""
    assert float(rows[1]["gain_low"]) == comparison.gains["other"].low


def test_json_comes_back(comparison, tmp_path):
    comparison.to_json(tmp_path / "comparison.json")
    written = json.loads((tmp_path / "comparison.json").read_text())
    assert (written["tsgrad"], written["comparison"]["reference"]) == ("comparison", "plain")
    assert written["version"]
    found = tg.Comparison.from_json(tmp_path / "comparison.json")
    assert found.data() == comparison.data()
    assert (found.bound, found.gains) == (comparison.bound, comparison.gains)
    for name, result in found.policies.items():
        np.testing.assert_array_equal(result.quantiles, comparison.policies[name].quantiles)
        np.testing.assert_array_equal(result.pulls, comparison.policies[name].pulls)
    assert str(found) == str(comparison)
    assert found.csv() == comparison.csv()
    for ask in (lambda: found.difference("plain", "other"), found.episodes_csv):
        with pytest.raises(tg.BadInput, match="a comparison read from a file has no single episodes: compare again"):
            ask()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.clear(),
        lambda data: data.update(reference="nobody"),
        lambda data: data.update(horizon=11),
        lambda data: data.update(horizon="10"),
        lambda data: data.update(extra=1),
        lambda data: data["policies"].update(other=3),
        lambda data: data["policies"]["other"].update(regret=float("nan")),
        lambda data: data["policies"]["other"].update(pulls=["x"]),
        lambda data: data["policies"]["other"].update(quantiles={}),
        lambda data: data["policies"]["other"]["gain"].pop("low"),
        lambda data: data["bound"].update(regret=None),
    ],
)
def test_damaged_data_are_refused(comparison, damage):
    data = json.loads(json.dumps(comparison.data()))
    damage(data)
    with pytest.raises(tg.BadInput, match="a comparison is damaged"):
        tg.Comparison.from_data(data)


def test_policies_can_be_left_out_and_renamed(comparison):
    """Without one of them, intervals hold for the rest; under other names nothing else changes."""
    less = comparison.without("other")
    alone = {name: policy for name, policy in POLICIES.items() if name != "other"}
    expected = tg.compare(PROBLEM, alone, horizon=10, episodes=4000, seed=3)
    assert less.data() == expected.data()
    spoken = comparison.renamed({name: name.upper() for name in POLICIES})
    assert spoken.reference == "PLAIN"
    assert spoken.gains["OTHER"] == comparison.gains["other"]
    assert spoken.difference("PLAIN", "OTHER") == comparison.difference("plain", "other")


def test_latex_is_well_formed(comparison, tmp_path):
    comparison.to_latex(tmp_path / "table.tex")
    text = (tmp_path / "table.tex").read_text()
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(body) == 1 + len(POLICIES) + 1  # head, policies, bound
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {4}
    assert all(line.count("$") % 2 == 0 for line in body)
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1
    assert r"greedy\_50\%" in text
    assert not re.search(r"(?<!\\)[%_]", "".join(body))


WICKED = {
    "plain": "[/x] \x1b[31mred\x07",
    "other": "=HYPERLINK(1)",
    "greedy_50%": "runs/a/folder/with/a/name/that/is/rather/long",
}


def test_nothing_is_lost_on_narrow_terminals(comparison):
    """At 50 to 80 columns every number is whole, every name is there to its last letter, and no line is too long."""
    named = comparison.renamed(WICKED)
    for width in range(50, 81, 5):
        text = as_text(named.table(), named.details(), width=width)
        assert max(map(len, text.splitlines())) <= width
        written = re.findall(r"[\d.]+", text)
        for found in named.policies.values():
            assert {f"{found.regret:.3f}", f"{found.standard_error:.3f}", f"{found.worst_decile:.2f}"} <= set(written)
        for gain in named.gains.values():
            shown = {f"{abs(number):.3f}" for number in (gain.mean, gain.standard_error, gain.low, gain.high)}
            assert shown <= set(written), width
        first_column = "".join(line.split("  ")[0] for line in text.splitlines()).replace(" ", "")
        for name in ("[/x][31mred", "=HYPERLINK(1)", WICKED["greedy_50%"]):
            assert name in first_column
        assert not re.search(r"[\x00-\x09\x0b-\x1f…]", text)


def test_names_do_no_harm_in_files(comparison):
    named = comparison.renamed(WICKED)
    rows = list(csv.DictReader(io.StringIO(named.csv())))
    assert [row["policy"] for row in rows] == ["[/x] [31mred", "'=HYPERLINK(1)", WICKED["greedy_50%"]]
    assert named.episodes_csv().splitlines()[0] == f"episode,[/x] [31mred,'=HYPERLINK(1),{WICKED['greedy_50%']}"
    assert all(float(row["regret"]) > 0 for row in rows)  # numbers stay numbers
    assert "\n{}[/x] [31mred & " in named.latex()


def test_as_many_digits_as_errors_allow():
    """The same comparison in units a thousandth as large has the same digits, three places further on."""
    where = {"horizon": 10, "episodes": 1000, "seed": 4, "bound": None}
    small = tg.GaussianBandit(prior_std=1e-3, noise_std=1e-3, arms=3)
    large = tg.GaussianBandit(arms=3)
    policies = {"plain": tg.Thompson(), "greedy": tg.Greedy()}
    found = [tg.compare(problem, policies, **where) for problem in (large, small)]
    for comparison, digits in zip(found, (3, 6), strict=True):
        regret, error = comparison.regret["greedy"], comparison.standard_error["greedy"]
        assert f" {regret:.{digits}f} ({error:.{digits}f})" in str(comparison)
        assert f"& {regret:.{digits - 1}f} ({error:.{digits - 1}f}) &" in comparison.latex()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_regrets_that_are_no_numbers_are_refused(value, monkeypatch):
    """With the policy's name and the remedy; no statistic is made from them, with or without a precision to reach."""

    def simulated(engine, policy, workload):
        regret = np.ones(workload.episodes)
        regret[7] = value if policy.name == "b" else 1.0
        return Episodes(regret, -regret, np.ones(5), None, None)

    monkeypatch.setattr(module, "simulated", simulated)
    policies = {name: Named(name) for name in "ab"}
    for options in ({}, {"to_precision": 0.1}, {"reference": "b"}):
        with pytest.raises(tg.BadInput, match=r"regret of .* is (nan|inf) in episode 7: play with precision='float64'"):
            tg.compare(PROBLEM, policies, horizon=5, episodes=512, seed=0, bound=None, **options)


def test_an_extreme_problem_gives_no_certainty():
    """In float32 this covariance is singular, which gave p < .001 from regrets that are no numbers."""
    problem = tg.LinearBandit(features=np.eye(2), prior_covariance=[[1, 1 - 1e-8], [1 - 1e-8, 1]])
    with pytest.raises(tg.BadInput, match=r"prior_covariance.* in float32: use precision='float64'"):
        tg.compare(problem, {"plain": tg.Thompson()}, horizon=2, episodes=256, seed=0)


class Synthetic:
    """Regrets of policies that differ by known amounts, on common episodes, in place of simulated ones."""

    means = {"a": 1.0, "b": 0.8, "c": 1.3}  # noqa: RUF012

    def __init__(self, seed):
        self.seed = seed

    def simulated(self, engine, policy, workload):
        """Skewed, correlated: a common part, and one of the policy's own."""
        first, end = workload.first_episode, workload.first_episode + workload.episodes
        common = np.random.default_rng([self.seed, 0]).exponential(size=end)
        own = np.random.default_rng([self.seed, ord(policy.name)]).exponential(size=end)
        regret = (self.means[policy.name] * (common + own) / 2)[first:]
        return Episodes(regret, -regret, np.full(5, regret.mean()), None, None)


class Named(Memoryless, tg.Policy):
    """A policy that is nothing but its name."""

    name: str

    def prepare(self, problem, horizon):
        return self

    def act(self, model, belief, memory, context, clock, noise):
        raise NotImplementedError


def sampled_to(to_precision, seed, monkeypatch, **options):
    synthetic = Synthetic(seed)
    monkeypatch.setattr(module, "simulated", synthetic.simulated)
    policies = {name: Named(name) for name in Synthetic.means}
    where = {"horizon": 5, "episodes": 512, "seed": 0, "bound": None}
    return tg.compare(PROBLEM, policies, to_precision=to_precision, **{**where, **options})


def test_sampling_to_a_precision_reaches_it(monkeypatch):
    found = sampled_to(0.02, 0, monkeypatch)
    widest = max(gain.half_width for gain in found.gains.values())
    assert 0.9 * 0.02 < widest <= 0.02  # and not with many more episodes than it takes
    assert found.episodes % 256 == 0
    assert "wanted ± 0.02" in str(found)
    assert len(found.regrets["b"]) == found.episodes
    assert found.policies["b"].regret_over_time[-1] == pytest.approx(found.regret["b"])


def test_sampling_gives_up_at_the_most_episodes(monkeypatch):
    found = sampled_to(1e-6, 0, monkeypatch, most_episodes=3000)
    assert found.episodes == 3000


@pytest.mark.long
def test_coverage_of_intervals_sampled_to_a_precision(monkeypatch):
    """500 times: both intervals hold in 0.95 of them, within z of one comparison, 1 false alarm in 1,000. Gains are
    correlated, so that Sidak's intervals may hold a little more often, by 0.01 at most for two.
    """
    truth = {name: Synthetic.means["a"] - mean for name, mean in Synthetic.means.items()}
    found = [sampled_to(0.05, seed, monkeypatch).gains for seed in range(500)]
    held = np.mean([all(gain.low <= truth[name] <= gain.high for name, gain in gains.items()) for gains in found])
    error = np.sqrt(0.95 * 0.05 / 500)
    assert 0.95 - z_bound(1) * error < held < 0.96 + z_bound(1) * error


def test_more_episodes_are_those_that_more_would_have_been():
    """Sampling to a precision plays the episodes 0, 1, 2, ... of the seed, on either engine."""
    policies = {"start": START, "other": POLICIES["other"]}
    for engine in ("native", "jax"):
        where = {"horizon": 10, "seed": 3, "engine": engine, "bound": None}
        found = tg.compare(PROBLEM, policies, episodes=300, to_precision=1e-6, most_episodes=1000, **where)
        whole = tg.compare(PROBLEM, policies, episodes=1000, **where)
        for name in policies:
            np.testing.assert_array_equal(found.regrets[name], whole.regrets[name])
            pieces, one = found.policies[name], whole.policies[name]
            np.testing.assert_allclose(pieces.regret_over_time, one.regret_over_time, rtol=1e-12)
            np.testing.assert_allclose(pieces.pulls, one.pulls, rtol=1e-12)


def test_unknown_name(comparison):
    with pytest.raises(
        tg.BadInput, match=r"policy must be one of plain, other, .*got 'pain' \(did you mean 'plain'\?\)"
    ):
        comparison.difference("plain", "pain")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": "pain"}, "reference must be one of plain, other, greedy_50%, got 'pain'"),
        ({"confidence": 95}, "confidence must be a number between 0 and 1, got 95"),
        ({"confidence": 1.0}, "confidence must be a number between 0 and 1, got 1.0"),
        ({"bound": "best"}, "bound must be one of auto, perfect, FH, V-Zero, optimum, got 'best'"),
        ({"to_precision": 0.0}, "to_precision must be > 0, got 0.0"),
        ({"to_precision": 0.1, "most_episodes": 4}, "most_episodes must be an integer >= 5, got 4"),
        ({"episodes": 1}, "episodes must be an integer >= 2, got 1"),
        ({"horizon": 0}, "horizon must be an integer from 1 to 2147483647, got 0"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(tg.BadInput, match=message):
        tg.compare(PROBLEM, POLICIES, **{"horizon": 10, "episodes": 5, "seed": 0, **options})


def test_no_policies():
    with pytest.raises(tg.BadInput, match="policies must name at least one policy"):
        tg.compare(PROBLEM, {}, horizon=2, episodes=5, seed=0)
    with pytest.raises(tg.BadInput, match="to_precision needs a policy beside the reference, got plain alone"):
        tg.compare(PROBLEM, {"plain": tg.Thompson()}, horizon=2, episodes=5, seed=0, to_precision=0.1)


def test_a_file_that_cant_be_written(comparison, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tg.BadInput, match=r"table\.csv can't be written: "):
        comparison.to_csv(tmp_path / "file" / "table.csv")
