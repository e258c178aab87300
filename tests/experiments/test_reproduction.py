"""Reproductions: what they hold is what was found, and one that was stopped anywhere leaves the same files."""

import csv
import io
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tsgrad as tg
from tsgrad.evaluate.tables import as_text
from tsgrad.experiments import (
    Reproduction,
    ReproductionProgress,
    as_printed_table,
    do_apart,
    read_results,
    setting_table,
)
from tsgrad.experiments.assembly import null_curves
from tsgrad.experiments.parts import PIECE, evaluate, policies, read_bound, read_evaluation
from tsgrad.experiments.plan import AS_PRINTED, Plan
from tsgrad.experiments.tables import csv_table, latex_table, markdown_table
from tsgrad.report import without_clock, write_reproduction_report
from tsgrad.training import HistoryRow, read_seconds

QUICK = {"setting": "hetero", "fraction": 0.004}  # 4 iterations, 256 episodes


def files(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in {"timing.json", "report.html"}
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduction") / "hetero"
    return folder, Reproduction(folder, **QUICK).run()


def test_results_come_back_from_their_file(whole):
    folder, results = whole
    assert read_results(folder / "results.json").model_dump() == results.model_dump()


def test_every_number_of_the_paper_is_there(whole):
    _, results = whole
    printed = {row.name: row.printed for row in results.rows if row.printed is not None}
    setting = tg.experiments.SETTINGS["hetero"]
    selected = {f"{name} (selected)": value for name, value in setting.trained.items()}
    assert printed == {**setting.trained, **selected, **setting.rivals}


def test_z_scores_and_verdicts(whole):
    _, results = whole
    for row in results.rows:
        if row.printed is not None:
            found = results.comparison.policies[row.name]
            z = (found.regret - row.printed.regret) / np.hypot(found.standard_error, row.printed.standard_error)
            assert row.z == pytest.approx(z)
            assert row.verdict == ("same" if abs(z) < 2 else "better" if z < 0 else "worse")


def test_rows_are_what_compare_says_of_the_policies_in_the_run_folders(whole):
    """Bit for bit: the same policies on the same episodes by the same code, intervals of all rows included."""
    folder, results = whole
    problem = tg.experiments.SETTINGS["hetero"].problem
    rows = {name: policy() for name, policy in policies(Plan(name="hetero"), folder).items() if AS_PRINTED not in name}
    found = tg.compare(problem, rows, horizon=50, episodes=256, seed=0, reference="TS", bound=None)
    assert found._replace(bound=read_bound(folder)).data() == results.comparison.data()
    played = tg.simulate(
        problem, tg.load(folder / "runs" / "mean-self" / "last.json").policy, horizon=50, episodes=256, seed=0
    )
    row = results.comparison.policies["mean/self"]
    assert row.regret == played.regret.mean()
    assert row.regret_over_time.tolist() == played.regret_over_time.tolist()
    assert row.pulls.tolist() == played.pulls.tolist()


def test_trainings_share_their_randomness(whole):
    """At the start all policies are the same: without runs of their own, so are their first batches."""
    _, results = whole
    first = {training.name: training.history[0].regret for training in results.trainings}
    assert first["obs/null"] == first["mean/null"] == first["bayes/null"] == first["mean/oracle"]


def test_pulls_in_the_first_batch_are_those_of_plain_thompson_sampling(whole):
    _, results = whole
    assert [point.iteration for point in results.pulls_during_training] == [1, 2, 3, 4]
    assert Plan(name="many").watched_iterations == [1, 334, 667, 1000]
    setting = tg.experiments.SETTINGS["hetero"]
    batch = {"horizon": 50, "episodes": 1000, "seed": 0, "purpose": tg.Purpose.TRAINING}
    plain = tg.simulate(setting.problem, tg.Thompson(), **batch)
    np.testing.assert_allclose(results.pulls_during_training[0].pulls, plain.pulls, rtol=0.002)


def test_the_trainings_are_the_papers(whole):
    _, results = whole
    assert [training.recipe for training in results.trainings] == ["paper"] * 5 + ["stable"]
    assert [training.recipe for training in results.as_printed.trainings] == ["as printed"] * 5
    rates = {"paper": 0.02, "as printed": 0.05}  # 0.4 of what is printed, and that
    for training in results.trainings + results.as_printed.trainings:
        used = training.settings
        if training.recipe in rates:
            expected = (1000, rates[training.recipe], "constant")
            assert (used["episodes"], used["learning_rate"], used["schedule"]) == expected
            assert used["optimizer"] == "adam"
            assert used["rollouts"] == (2 if training.baseline == "self" else 1)
        else:
            assert (used["schedule"], used["rollouts"]) == ("cosine", 4)


def test_tables(whole):
    _, results = whole
    least = results.comparison.policies[results.comparison.best]
    best = f"{least.regret:.3f} ({least.standard_error:.3f})"
    markdown, latex = markdown_table(results), latex_table(results)
    assert markdown.count("**") == 4  # one bold number in each of two tables
    assert f"**{best}**" in markdown
    assert latex.count(r"\textbf") == latex.count(r"\begin{tabular}") == 2
    assert rf"\textbf{{{best}}}" in latex
    for text in (markdown, latex):
        assert text.count("16.561 (0.204)") == 2
    rows = list(csv.DictReader(io.StringIO(csv_table(results))))
    both = (results, results.as_printed)
    assert [float(row["regret"]) for row in rows] == [x for found in both for x in found.comparison.regret.values()]
    assert [row["verdict"] for row in rows] == [row.verdict or "" for found in both for row in found.rows]
    assert [row["recipe"] for row in rows if row["policy"] == "mean/self"] == ["paper", "as printed"]
    assert rows[0]["printed"] == "16.561"
    for width, (table, found) in itertools.product(
        (50, 80), ((setting_table, results), (as_printed_table, results.as_printed))
    ):
        text = as_text(table(results), width=width)
        assert max(map(len, text.splitlines())) <= 80
        assert {f"{regret:.3f}" for regret in found.comparison.regret.values()} <= set(re.findall(r"[\d.]+", text))


def test_steps_are_the_one_difference_of_the_second_table(whole):
    """Both start from the same policy on the same batch; then they differ."""
    _, results = whole
    for ours, printed in zip(results.trainings[:5], results.as_printed.trainings, strict=True):
        assert ours.name == printed.name
        assert ours.history[0] == printed.history[0]
        assert ours.last != printed.last
    assert results.as_printed.comparison.names == [
        *(name for pair in results.as_printed.trainings for name in (pair.name, f"{pair.name} (selected)")),
        "TS",
    ]
    assert results.as_printed.comparison.regret["TS"] == results.comparison.regret["TS"]


def test_distances_of_curves():
    curves = [
        [HistoryRow(i, value, 0.5, 1.0, None, {}) for i, value in enumerate(row)] for row in ([1, 2, 0], [3, 2, 0])
    ]
    found = null_curves(curves)  # the last row has no batch
    assert (found.largest_distance, found.mean_distance, found.mean_standard_error) == (2.0, 1.0, 0.5)


class Stopped(Exception):
    """A stop at a chosen moment."""


@pytest.mark.quick("100")
@pytest.mark.parametrize("moment", [3, 100, 153])
def test_stopped_anywhere_and_resumed_leaves_the_same_files(moment, whole, tmp_path):
    """At the given call of the watcher: in the first training, among evaluations, before the bound."""
    folder = tmp_path / "hetero"
    calls = itertools.count(1)

    def stop(setting, part, share):
        if next(calls) == moment:
            raise Stopped

    with pytest.raises(Stopped):
        Reproduction(folder, **QUICK).run(stop)
    done = {path: content for path, content in files(folder).items() if path.name == "result.json"}
    Reproduction(folder, setting="hetero", resume=True).run()
    assert files(folder) == files(whole[0])
    assert done.items() <= files(folder).items()


def test_parts_that_are_done_are_not_done_again(whole):
    folder, results = whole
    for part in Reproduction(folder, setting="hetero", resume=True).parts:
        assert part.is_done()
    seconds, before = read_seconds(folder), files(folder)
    rows = len(results.rows) + len(results.as_printed.rows) - 1  # plain Thompson sampling is in both tables
    assert len(seconds) == len(results.trainings) + len(results.as_printed.trainings) + rows + 1
    assert Reproduction(folder, setting="hetero", resume=True).run().model_dump() == results.model_dump()
    assert read_seconds(folder) == seconds
    assert files(folder) == before


def test_evaluations_go_on_where_they_stopped(tmp_path):
    """Three pieces, the episodes of one simulation at that seed; sums of pieces differ in the last bits at most."""
    plan, plain = Plan(name="many", fraction=0.25), tg.Thompson()  # 2,500 episodes

    def stop(played):
        if played == PIECE:
            raise Stopped

    with pytest.raises(Stopped):
        evaluate(tmp_path / "stopped.npz", plain, plan, stop)
    assert len(read_evaluation(tmp_path / "stopped.npz", plain, plan).regret) == PIECE
    evaluate(tmp_path / "stopped.npz", plain, plan, lambda played: None)
    evaluate(tmp_path / "whole.npz", plain, plan, lambda played: None)
    assert (tmp_path / "stopped.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    found = read_evaluation(tmp_path / "whole.npz", plain, plan)
    played = tg.simulate(plan.setting.problem, plain, horizon=20, episodes=2500, seed=0)
    np.testing.assert_array_equal(found.regret, played.regret)
    np.testing.assert_allclose(found.regret_over_time, played.regret_over_time, rtol=1e-13)
    np.testing.assert_allclose(found.pulls, played.pulls, rtol=1e-13)


def test_evaluations_of_others_are_not_taken(tmp_path):
    """Not those of another policy or another seed, nor files that are damaged or of an earlier version."""
    plan, path = Plan(name="many", fraction=0.02), tmp_path / "played.npz"
    evaluate(path, tg.Thompson(), plan, lambda played: None)
    assert read_evaluation(path, tg.Thompson(), plan) is not None
    assert read_evaluation(path, tg.Greedy(), plan) is None
    assert read_evaluation(path, tg.Thompson(), plan.model_copy(update={"evaluation_seed": 1})) is None
    np.savez(path, regret=np.ones(256), regret_over_time=np.ones(20), pulls=np.ones(20))
    assert read_evaluation(path, tg.Thompson(), plan) is None
    path.write_bytes(b"PK")
    assert read_evaluation(path, tg.Thompson(), plan) is None


@pytest.mark.parametrize(
    "damage", ["", "[]", '{"tsgrad": "bound", "format": 1, "sha256": "edited", "bound": {"regret": "low"}}']
)
def test_a_damaged_bound_is_one_line(tmp_path, damage):
    (tmp_path / "bound.json").write_text(damage)
    with pytest.raises(tg.BadInput, match=r"bound\.json (does not hold|is not)"):
        read_bound(tmp_path)


def test_progress_counts_efforts(whole):
    """All done: the bar of the whole is at its end from the start."""
    folder, _ = whole
    reproduction = Reproduction(folder, setting="hetero", resume=True)
    progress = ReproductionProgress([reproduction])
    assert progress.bars.tasks[0].percentage == pytest.approx(100)
    progress.update("hetero", reproduction.parts[0], 0.0)
    efforts = [part.effort for part in reproduction.parts]
    assert progress.bars.tasks[0].percentage == pytest.approx(100 * (1 - efforts[0] / sum(efforts)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"setting": "heter"}, "setting must be one of standard, hetero, many"),
        ({"fraction": 0.0}, "fraction must be above 0 and at most 1, got 0.0"),
        ({}, "holds a reproduction: continue it with --resume, or choose another folder"),
        ({"resume": True, "fraction": 0.5}, "fraction must be 0.004 as .* was started with, got 0.5"),
        ({"resume": True, "seed": 1}, "seed must be 0 as .* was started with, got 1"),
        ({"resume": True, "setting": "many"}, "setting must be hetero as"),
    ],
)
def test_folders_keep_to_their_plan(options, message, whole):
    with pytest.raises(tg.BadInput, match=message):
        Reproduction(whole[0], **{"setting": "hetero", **options})


@pytest.mark.parametrize("options", [{"seed": -1}, {"resume": True}])
def test_what_fails_claims_no_folder(options, tmp_path):
    """A seed that can't be, and nothing to continue."""
    with pytest.raises(tg.BadInput, match=r"seed must be an integer|holds no reproduction to continue"):
        Reproduction(tmp_path / "new", setting="hetero", **options)
    assert not (tmp_path / "new").exists()


def test_folders_of_others_are_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(tg.BadInput, match="is not an empty folder: choose another"):
        Reproduction(tmp_path, **QUICK)


def test_an_interrupt_says_how_to_go_on(whole, monkeypatch, capsys):
    from tsgrad.cli import run

    def interrupted(self, watch):
        raise KeyboardInterrupt

    monkeypatch.setattr(Reproduction, "run", interrupted)
    out = whole[0].parent
    monkeypatch.setattr(sys, "argv", ["tsgrad", "reproduce", "hetero", "--out", str(out), "--resume"])
    with pytest.raises(SystemExit) as stopped:
        run()
    assert stopped.value.code == 130
    assert f"Continue with: tsgrad reproduce hetero --out {out} --resume" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["heter"], r"setting must be one of standard, hetero, many, all, got 'heter' \(did you mean 'hetero'\?\)"),
        (["many", "--fraction", "2"], "fraction must be above 0 and at most 1, got 2.0"),
    ],
)
def test_wrong_usage_is_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    from tsgrad.cli import main

    monkeypatch.setattr(sys, "argv", ["tsgrad", "reproduce", *arguments, "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as stopped:
        main()
    errors = capsys.readouterr().err
    assert (stopped.value.code, errors.count("\n")) == (2, 1)
    assert re.search(message, errors)
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_the_command_killed_and_resumed(whole, tmp_path, monkeypatch, capsys):
    """SIGKILL once the second training has a checkpoint; then the command again, to the files of an unbroken run."""
    from tsgrad.cli import main

    command = ["reproduce", "hetero", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tsgrad.cli", *command, "--fraction", "0.004"], stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "hetero" / "runs" / "mean-null" / "checkpoint.npz").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "hetero" / "results.json").exists()
    monkeypatch.setattr(sys, "argv", ["tsgrad", *command, "--resume"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    out = capsys.readouterr().out
    assert "heteroscedastic arms" in out
    assert f"Report: {tmp_path / 'hetero' / 'report.html'}" in out
    unbroken = shutil.copytree(whole[0], tmp_path / "unbroken")
    page = write_reproduction_report(unbroken)
    assert files(tmp_path / "hetero") == files(unbroken)
    assert {path.suffix for path in (unbroken / "figures").iterdir()} == {".png", ".svg", ".pdf"}
    assert without_clock((tmp_path / "hetero" / "report.html").read_text()) == without_clock(page.read_text())


@pytest.mark.long
def test_parts_that_workers_have_done_are_found_done(whole, tmp_path):
    reproduction = Reproduction(tmp_path / "hetero", **QUICK)
    told = []
    do_apart([reproduction], tg.LocalWorkers(), lambda setting, part, share: told.append((part.name, share)))
    assert sorted(told) == sorted((part.name, 1.0) for part in reproduction.parts)
    assert all(part.is_done() for part in reproduction.parts)
    assert set(read_seconds(tmp_path / "hetero")) == {part.name for part in reproduction.parts}
    reproduction.run()
    assert files(tmp_path / "hetero") == files(whole[0])
