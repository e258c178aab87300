"""What reports say: the numbers of the comparison, in words; warnings where they are due; the same page every time."""

import json
import re
import shutil
import sys
from html import escape

import numpy as np
import pytest

import tsgrad as tg
from tsgrad.evaluate import Comparison, Gain, PolicyResult, RegretBound
from tsgrad.evaluate.digits import fixed, interval
from tsgrad.evaluate.rivals import RivalPolicy
from tsgrad.experiments import read_results
from tsgrad.live.trust import Kept, Robustness
from tsgrad.policies import parameter_vector, with_parameters
from tsgrad.policies.rivals import Greedy, Uniform
from tsgrad.registry import to_data
from tsgrad.report import (
    render,
    reproduction_report,
    run_report,
    without_clock,
    write_reproduction_report,
    write_run_report,
)
from tsgrad.report.concerns import suspicious_gradients
from tsgrad.report.contents import Concern, Report, Section
from tsgrad.report.meta_parameters import meta_parameter_section
from tsgrad.report.robustness_section import robustness_section
from tsgrad.report.sections import gain_section, headline, key_figures, limit_section
from tsgrad.report.summary import Words
from tsgrad.report.words import UNKNOWN, arm_labels, meaning, problem_words
from tsgrad.training import RunFolder, read_seconds

PROBLEM = tg.GaussianBandit(noise_std=[0.1, 1.0, 4.0])


@pytest.fixture(scope="module")
def report(run_folder):
    return run_report(run_folder, episodes=2000, seed=5, rivals=False)


def test_numbers_are_those_of_the_comparison(report, run_folder):
    policies = {"plain": tg.Thompson(), "trained": tg.load(run_folder / "policy.json").policy}
    found = tg.compare(PROBLEM, policies, horizon=20, episodes=2000, seed=5, bound=None)
    gain, error = found.difference("plain", "trained")
    assert interval(gain, error) in report.headline
    table = report.sections[0].blocks[0]
    rows = {row.cells[0]: row for row in table.rows}
    assert rows["trained policy"].cells[1] == fixed(found.regret["trained"], 2)
    assert rows["Thompson sampling"].cells[1] == fixed(found.regret["plain"], 2)
    assert rows["trained policy"].cells[3] == fixed(gain, 2)
    least = min(rows.values(), key=lambda row: float(row.cells[1]))
    assert [row.strong for row in table.rows] == [row is least for row in table.rows]


def test_sections_and_facts(report):
    headings = [section.heading for section in report.sections]
    assert headings == [
        "On fresh episodes",
        "The limit",
        "Where the gain comes from",
        "What training changed",
        "How training went",
    ]
    told = {fact.label: fact.value for fact in report.facts}
    assert "noise sd 0.1, 1, 4" in told["Problem"]
    assert "seed 1" in told["Training"]
    assert told["Evaluation"] == "2,000 episodes, seed 5"
    assert told["Engine"] in ("native, float32", "jax, float32")
    assert "tsgrad" in told["Versions"]
    meanings = dict(report.sections[3].blocks[-1].entries)
    assert meanings["precision ratio"] == meaning("precision_ratio")
    assert list(meanings) == ["prior mean", "prior variance", "precision ratio", "decay"]


def test_the_gain_is_accounted_for(report, run_folder):
    """Phases add up to the whole: what each policy lost in all parts is its regret."""
    found = tg.compare(
        PROBLEM,
        {"plain": tg.Thompson(), "trained": tg.load(run_folder / "policy.json").policy},
        horizon=20,
        episodes=2000,
        seed=5,
    )
    picture = next(picture for picture in report.pictures if picture.name == "regret-by-phase")
    (axes,) = picture.draw("wide").axes
    heights = np.array([bar.get_height() for bar in axes.patches])
    np.testing.assert_allclose(heights.reshape(2, -1).sum(axis=1), list(found.regret.values()), rtol=1e-6)


def test_the_same_page_every_time_and_the_clock_apart(run_folder, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run_folder, folder)
    pages = []
    for seconds in (None, 75.0):
        if seconds is not None:
            (folder / "timing.json").write_text(json.dumps({"training": seconds}))
        pages.append(write_run_report(folder, episodes=300, rivals=False).read_text())
    assert "1 min 15 s of training" in pages[1]
    assert without_clock(pages[1]).replace("\n\n", "\n") == pages[0].replace("\n\n", "\n")
    assert pages[0] == without_clock(pages[0])


def test_what_a_manager_asks_comes_first(report, run_folder):
    (summary,) = report.summary
    earned, assumed, wrong = summary.paragraphs
    best = 20 * PROBLEM.expected_best_mean()
    rows = {row.cells[0]: row.cells for row in summary.blocks[0].rows}
    found = tg.compare(PROBLEM, {"plain": tg.Thompson()}, horizon=20, episodes=2000, seed=5, bound=None)
    plain = rows["Thompson sampling"][1]
    assert plain == fixed(best - found.regret["plain"], len(plain.split(".")[1]))
    assert earned.startswith("Over 20 decisions the trained policy earns ")
    assert "a lift of" in earned
    assert assumed.startswith("The arms are arm 0, arm 1, arm 2. It is assumed that an arm will pay from −1.64 to 1.64")
    assert wrong.startswith("And if that is wrong? This page has not tried: `tsgrad report ")
    assert "`tsgrad report DIR --robustness`" in wrong
    assert summary.blocks[1].name == "traffic"
    page = render(report)
    assert str(run_folder) not in page
    assert page.index("In short") < page.index(escape(report.headline)) < page.index("Warnings")


def test_names_of_arms_must_be_as_many_as_there_are():
    assert Words.of(PROBLEM, ["a", "b", "c"], "clicks").arms == ["a", "b", "c"]
    with pytest.raises(tg.BadInput, match="arms must be 3 different names"):
        Words.of(PROBLEM, ["a", "a", "b"], "clicks")


def test_what_is_left_of_a_gain_has_a_section():
    kept = [Kept("As assumed", 10.0, 3.0, 0.2), Kept("Rewards 2 steps later than planned", 12.0, -1.0, 0.2, 0.3)]
    section = robustness_section(Robustness(kept), episodes=4096)
    assert "turns into a loss in 1 of 1 scenarios: rewards 2 steps later" in section.paragraphs[0]
    assert [row.cells[1] for row in section.blocks[1].rows] == ["a gain", "a loss"]
    for width in ("wide", "narrow"):
        assert len(section.blocks[0].draw(width).axes[0].get_yticklabels()) == 2


def test_text_is_escaped():
    wicked = "<script>alert('a & b')</script>"
    section = Section(wicked, [wicked, "`code`"])
    page = render(Report(wicked, wicked, wicked, [], [Concern(wicked, wicked)], [section], [], wicked, "1"))
    assert "<script" not in page
    assert "&lt;script&gt;alert(&#39;a &amp; b&#39;)" in page
    assert "<code>code</code>" in page


PULLS = np.array([3.0, 3.0, 4.0])


def compared(gain, error, *, before=25.77, standard_error=0.1, curves=None, pulls=(PULLS, PULLS), episodes=1000):
    """Plain Thompson sampling and a trained policy with known results."""
    curves = [np.linspace(0, regret, 10) for regret in (before, before - gain)] if curves is None else curves
    gains = (None, Gain(gain, error, gain - 2 * error, gain + 2 * error, 0.5))
    policies = {
        name: PolicyResult(regret, standard_error, over, np.ones(3), regret, curve, pulled)
        for name, regret, over, curve, pulled in zip(
            ("Thompson sampling", "trained"), (before, before - gain), gains, curves, pulls, strict=True
        )
    }
    limit = RegretBound(before / 5, 0.0, "FH", 10, 0)
    return Comparison(policies, 10, episodes, 0, "Thompson sampling", 0.95, limit, None, {})


@pytest.mark.parametrize(
    ("gain", "error", "says"),
    [
        (10.34, 0.16, "a gain of 10.3 (95% confidence interval 10.0 to 10.7), 40% of the regret."),
        (-2.0, 0.1, "it is worse by 2.0 (95% confidence interval 1.8 to 2.2)."),
        (0.1, 0.2, "no gain beyond chance (95% confidence interval −0.3 to 0.5)."),
        (0.0, 0.0, "no gain; both make the same choices."),
    ],
)
def test_headlines(gain, error, says):
    found = compared(gain, error)
    assert headline(found, "trained", "The trained policy").endswith(says)
    labels = [key.label for key in key_figures(found, "trained")]
    assert labels == ["Regret before", "Regret after", "Gain", "Limit"]


def test_small_rewards_keep_their_digits():
    """Where regrets are 0.004, three decimals say nothing."""
    found = compared(0.0012, 0.00004, before=0.0041, standard_error=0.00003)
    told = headline(found, "trained", "It")
    assert "has regret 0.00290 ± 0.00003" in told
    assert "a gain of 0.00120 (95% confidence interval 0.00112 to 0.00128), 29% of the regret" in told
    (text,) = limit_section(found, "trained", found.bound).paragraphs
    assert "less than 0.00082 here" in text
    assert "0.0021 above it, Thompson sampling 0.0033" in text
    phases = gain_section(found, "trained", arm_labels({"kind": "gaussian"}, 3)).blocks[1]
    assert "steps 1–2 0.000" in phases.alternative
    (axes,) = phases.draw("wide").axes
    assert all(re.fullmatch(r"−0\.000[1-9]", text.get_text()) for text in axes.texts)


def paragraphs(found):
    return " ".join(gain_section(found, "trained", arm_labels({"kind": "gaussian"}, 3)).paragraphs)


def test_reports_say_only_what_exceeds_its_error():
    """Pulls that moved by less than chance can do, what is lost early, and a share of a gain that is none."""
    moved = (PULLS, PULLS + np.array([0.9, -0.6, -0.3]))
    assert "before by more than chance." in paragraphs(compared(5.0, 0.1, pulls=moved, episodes=100))
    told = paragraphs(compared(5.0, 0.1, pulls=moved, episodes=2000))
    assert "most to arm 0 (3.0 to 3.9 per episode), most from arm 1 (3.0 to 2.4)." in told
    assert "Training moved 9% of the pulls" in told
    curves = [np.linspace(0, 25.77, 10), np.linspace(0.85, 20.77, 10)]
    assert "Training invests: it loses 0.2 more in steps 1–2" in paragraphs(compared(5.0, 0.05, curves=curves))
    assert "Of the gain, 0% is made early" in paragraphs(compared(5.0, 0.5, curves=curves))
    assert "no gain to divide over time" in paragraphs(compared(0.5, 0.4))
    no_gain = compared(0.5, 0.4)
    assert "removed" not in limit_section(no_gain, "trained", no_gain.bound).paragraphs[0]


def test_exchangeable_arms_are_not_told_apart():
    """Ten times, all arms the same and meta-parameters shared: no report names an arm that pulls went to."""
    problem = tg.GaussianBandit(arms=5)
    start = tg.ReshapedThompson(problem, shared=True)
    policies = {"plain": tg.Thompson(), "trained": with_parameters(start, parameter_vector(start) - 0.7)}
    labels = arm_labels(to_data(problem), 5)
    for seed in range(10):
        found = tg.compare(problem, policies, horizon=30, episodes=300, seed=seed, bound=None)
        _, told = gain_section(found, "trained", labels).paragraphs
        assert not re.search(r"arm \d", told), seed


def test_a_run_without_gain(tmp_path):
    """One arm: every policy is the same, and the page says so."""
    problem = tg.GaussianBandit(arms=1)
    settings = {"horizon": 3, "episodes": 64, "iterations": 2, "validation_episodes": 64}
    tg.train(problem, tg.ReshapedThompson(problem), out=tmp_path / "run", **settings)
    report = run_report(tmp_path / "run", episodes=256, rivals=False)
    assert "both make the same choices" in report.headline
    assert "No gain is shown" in [concern.title for concern in report.concerns]
    assert "<svg" in render(report)


def test_parameters_at_their_bounds_are_noticed():
    """Where the variance is clipped its gradient is exactly zero; real gradients, at a policy beyond the bounds."""
    start = tg.ReshapedThompson(PROBLEM)
    vector = parameter_vector(start)
    vector[3] = -25.0  # log_prior_variance[0], bounded at -20
    where = {"horizon": 5, "episodes": 256, "seed": 0}
    estimator = tg.Estimator("mean", "oracle")
    errors = [tg.gradient(PROBLEM, policy, estimator, **where) for policy in (start, with_parameters(start, vector))]
    assert errors[0].names[3] == "log_prior_variance[0]"
    concerns = suspicious_gradients(errors[0].names, errors[0].standard_error, errors[1].standard_error)
    stuck = [concern for concern in concerns if "bounds" in concern.title]
    assert len(stuck) == 1
    assert "log_prior_variance[0]" in stuck[0].text


def test_words_for_what_is_not_known():
    assert meaning("temperature") == UNKNOWN
    assert arm_labels({"kind": "mine", "name": "x"}, 2).ticks == ["0", "1"]


@pytest.mark.parametrize("setting", ["hetero", "many"])
def test_reproduction(reproduction_folder, pages, setting):
    results = read_results(reproduction_folder / setting / "results.json")
    report = reproduction_report(reproduction_folder / setting)
    for table, found in zip(report.sections[0].blocks, (results, results.as_printed), strict=False):
        assert len(table.rows) == len(found.rows)
        regret = found.comparison.regret
        for row, shown in zip(found.rows, table.rows, strict=True):
            assert fixed(regret[row.name], 2) in shown.cells
            assert fixed(row.printed.regret, 2) in shown.cells
            assert row.verdict in shown.cells
            assert shown.strong == (regret[row.name] == min(regret.values()))
    assert [table.caption.partition(",")[0] for table in report.sections[0].blocks[:2]] == [
        f"Regret in the {results.title.partition(',')[0]}",
        "With the learning rate as printed",
    ]
    assert "with 0.4 of its learning rate, one factor for all settings" in report.sections[0].paragraphs[0]
    assert "A fraction of the paper's effort" in [concern.title for concern in report.concerns]
    written = {path.name for path in (reproduction_folder / setting / "figures").iterdir()}
    assert written == {f"{picture.name}.{kind}" for picture in report.pictures for kind in ("png", "svg", "pdf")}
    assert {"learning-curves.pdf", "pulls-during-training.svg"} <= written


def test_the_page_of_a_reproduction_is_its_report(reproduction_folder, pages):
    assert pages["reproduction"].read_text() == render(reproduction_report(reproduction_folder / "hetero"))


def test_rivals_are_on_the_page_and_the_best_is_named(run_folder, monkeypatch):
    of_other_arms = tg.ReshapedThompson(tg.GaussianBandit(arms=7))
    policies = {"greedy": Greedy(), "uniform": Uniform(), "of other arms": of_other_arms}
    chosen = {name: RivalPolicy(lambda policy=policy: policy) for name, policy in policies.items()}
    monkeypatch.setattr("tsgrad.evaluate.rivals.RIVALS", chosen)
    report = run_report(run_folder, episodes=2000, seed=5)
    section = report.sections[0]
    names = [row.cells[0] for row in section.blocks[0].rows]
    assert names == ["Thompson sampling", "trained policy", "end of training", "greedy", "uniform"]
    policies = {"trained": tg.load(run_folder / "policy.json").policy, "greedy": Greedy()}
    found = tg.compare(PROBLEM, policies, horizon=20, episodes=2000, seed=5, bound=None)
    excess, error = found.difference("greedy", "trained")
    assert excess > 2 * error
    assert f"greedy, has {fixed(excess, 1)} more regret than the trained policy" in section.paragraphs[0]
    assert "Left out: of other arms (policy has meta-parameters for 7 arms, the problem has" in section.paragraphs[0]
    (learning,) = (picture for picture in report.pictures if picture.name == "learning-curve")
    assert "Not drawn, being far above: uniform" in learning.caption


def test_bad_folders(run_folder, tmp_path):
    with pytest.raises(tg.BadInput, match=r"holds no run: there is no config\.toml in it"):
        run_report(tmp_path)
    with pytest.raises(tg.BadInput, match=r"holds no reproduction: there is no results\.json in it"):
        write_reproduction_report(tmp_path)
    shutil.copy(run_folder / "config.toml", tmp_path)
    with pytest.raises(tg.BadInput, match="holds no finished run: finish it with 'tsgrad resume"):
        run_report(tmp_path)


def command(monkeypatch, capsys, *arguments):
    """`tsgrad report` in this process: exit code, output, errors."""
    from tsgrad.cli import main

    monkeypatch.setattr(sys, "argv", ["tsgrad", "report", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code or 0, *capsys.readouterr()


@pytest.mark.long
@pytest.mark.formulas
def test_command(run_folder, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "run"
    shutil.copytree(run_folder, folder)
    code, output, _ = command(monkeypatch, capsys, folder, "--episodes=300", "--no-rivals", "--figures")
    assert (code, output.strip()) == (0, f"Report: {folder / 'report.html'}")
    assert (folder / "figures" / "learning-curve.pdf").exists()


DAMAGES = ["", "{", "[]", "3", '{"training": "long"}', '{"training": NaN}', '{"tsgrad": "result", "format": 1}', "\xff"]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", ["timing.json", "result.json"])
def test_damaged_files_of_a_run_are_one_line(run_folder, tmp_path, file, damage):
    folder = tmp_path / "run"
    shutil.copytree(run_folder, folder)
    (folder / file).write_text(damage, encoding="latin-1")
    read = {"timing.json": lambda: read_seconds(folder), "result.json": RunFolder(folder).run}[file]
    with pytest.raises(tg.BadInput, match=rf"{file} (is damaged|is not)"):
        read()


@pytest.mark.parametrize(
    "damage",
    [
        lambda results: results.pop("comparison"),
        lambda results: results["comparison"].update(policies={}),
        lambda results: results["comparison"].update(reference="nobody"),
        lambda results: results["comparison"]["policies"]["TS"].update(regret="much"),
        lambda results: results["rows"].pop(),
        lambda results: results["rows"][0].update(training="nobody"),
        lambda results: results["rows"][0].update(printed=[1.0]),
        lambda results: results.update(trainings=[]),
    ],
)
def test_damaged_results_are_one_line(reproduction_folder, tmp_path, damage, monkeypatch, capsys):
    written = json.loads((reproduction_folder / "many" / "results.json").read_text())
    written["sha256"] = "edited"  # the checksum would tell the damage before anything else is looked at
    damage(written["results"])
    (tmp_path / "results.json").write_text(json.dumps(written))
    code, _, errors = command(monkeypatch, capsys, tmp_path)
    assert (code, errors.count("\n")) == (2, 1)
    assert "results.json does not hold what this version of tsgrad writes: reproduce again" in errors


PROBLEMS = {
    "linear": tg.LinearBandit(features=np.eye(3), noise_std=0.5),
    "ball": tg.BallBandit(dimension=2),
    "poisson": tg.PoissonBandit(shape=[1.0, 2.0]),
    "wrong model": tg.Misspecified(truth=tg.GaussianBandit(arms=2), model=tg.GaussianBandit(arms=2, noise_std=3.0)),
}
WORDS = {
    "linear": "linear; prior mean 0; prior covariance [3 × 3]; features [3 × 3]; noise sd 0.5",
    "ball": "ball; prior mean 0; prior covariance [2 × 2]; noise sd 1",
    "poisson": "poisson; shape 1, 2; rate 1",
    "wrong model": "misspecified; truth (gaussian; prior mean 0; prior sd 1; noise sd 1); "
    "model (gaussian; prior mean 0; prior sd 1; noise sd 3)",
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_in_words(name):
    assert problem_words(to_data(PROBLEMS[name])) == WORDS[name]


def test_infinitely_many_arms():
    """No pulls per arm; and meta-parameters of different lengths, as a ball has them."""
    labels = arm_labels(to_data(PROBLEMS["ball"]), 0)
    section = gain_section(compared(1.0, 0.1, pulls=(None, None)), "trained", labels)
    assert [block.name for block in section.blocks] == ["regret-over-time", "regret-by-phase"]
    before, after = ({"prior_mean": np.full(2, value), "covariance_scale": np.asarray(value)} for value in (1.0, 0.5))
    picture, *tables, definitions = meta_parameter_section(before, after, labels).blocks
    assert [[row.cells for row in table.rows] for table in tables] == [
        [["all", "1 → 0.5"]],
        [["0", "1 → 0.5"], ["1", "1 → 0.5"]],
    ]
    assert [word for word, _ in definitions.entries] == ["prior mean", "covariance scale"]
    assert len(picture.draw("narrow").axes) == 2


def test_weights_of_a_network_are_summed_up():
    before = {"weight_hidden": np.zeros((2, 3)), "bias": np.ones(2)}
    after = {"weight_hidden": np.full((2, 3), 2.0), "bias": np.ones(2)}
    section = meta_parameter_section(before, after, arm_labels({"kind": "gaussian"}, 2))
    (table,) = section.blocks
    assert [row.cells for row in table.rows] == [
        ["weight hidden", "2 × 3", "0", "2", "2"],
        ["bias", "2", "1", "1", "0"],
    ]
