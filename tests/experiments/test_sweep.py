"""Sweeps: every combination is a run, whoever computes it and whatever stops it."""

import hashlib
import io

import pyarrow.parquet
import pytest

import tsgrad as tg
from tsgrad.experiments import read_sweep, sweep
from tsgrad.experiments.axes import axis_values
from tsgrad.report.sweep_report import sweep_report
from tsgrad.simulation import LocalWorkers
from tsgrad.training import RunFolder, train_configuration

TABLES = {
    "problem": {"kind": "bernoulli", "arms": 2},
    "training": {"horizon": 5, "episodes": 256, "iterations": 12, "validation_episodes": 512},
}
AXES = {"training.horizon": {"from": 3, "to": 12, "count": 2}, "problem.arms": [2, 3], "training.seed": [0]}


def files(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweeps") / "whole"
    return folder, sweep(TABLES, AXES, out=folder)


def test_every_combination_is_a_run_like_any_other(done):
    folder, found = done
    assert [row.values["training.horizon"] for row in found.rows] == [3, 3, 12, 12]
    assert [row.values["problem.arms"] for row in found.rows] == [2, 3, 2, 3]
    for row in found.rows:
        alone = tg.train(
            tg.BernoulliBandit(arms=row.values["problem.arms"]),
            **{**TABLES["training"], "horizon": row.values["training.horizon"]},
        )
        assert (row.gain, row.start_regret) == (alone.gain, alone.plain_regret)
        assert RunFolder(folder / row.run).is_finished


def test_tables_have_every_run(done):
    folder, found = done
    table = pyarrow.parquet.read_table(io.BytesIO((folder / "table.parquet").read_bytes()))
    assert table.to_pylist() == found.records()
    assert (folder / "table.csv").read_text() == found.csv()
    assert len(found.csv().splitlines()) == 5
    assert read_sweep(folder) == found
    assert "horizon" in str(found)


class StoppedWorkers(LocalWorkers):
    """Stop in the middle of the second run that they are given."""

    def each(self, work, items):
        def stop(iteration):
            if iteration == 11:
                raise KeyboardInterrupt

        for place, (folder, configuration) in enumerate(items):
            if place == 1:
                train_configuration(configuration, out=folder, progress=stop)
            yield place, work((folder, configuration))


def test_a_sweep_that_was_stopped_goes_on_to_the_same_files(done, tmp_path):
    whole, found = done
    folder = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        sweep(TABLES, AXES, out=folder, workers=StoppedWorkers())
    assert not (folder / "table.csv").exists()
    (folder / "runs/001/result.json").unlink()  # as if it had been killed just before its end
    told = []
    assert sweep(TABLES, AXES, out=folder, resume=True, progress=lambda *counts: told.append(counts)) == found
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert files(folder) == files(whole)


def test_report(done):
    folder, _ = done
    report = sweep_report(folder)
    assert [picture.name for picture in report.pictures] == ["gain-heat-map", "gain-lines"]
    for picture in report.pictures:
        assert picture.draw("narrow").axes
    assert report.title == "What training gains over horizon, arms and seed"
    assert "of 4 runs" in report.headline
    assert len(report.sections[-1].blocks[0].rows) == 4


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        ({"training.horizon": 5}, "must be a list of values, or a range"),
        ({"training.horizon": []}, "must be a list of values, or a range"),
        ({"training.horizon": [5, 5]}, "every value once"),
        ({"training.horizon": [5, -1]}, r"at training.horizon = -1: training.horizon"),
        ({"training.horizont": [5]}, "horizon"),
        ({"horizon": [5]}, "such as training.horizon"),
        ({"problem.kind.x": [5]}, "field of a table"),
        ({"problem.arms": [2, "many"]}, "at problem.arms = many: "),
        ({"training.horizon": {"from": 1, "to": 5}}, "count"),
        ({"training.horizon": {"from": 0, "to": 5, "count": 3, "scale": "log"}}, "above 0 on a log scale"),
        ({"training.horizon": {"from": 1, "two": 5}}, "two"),
        ({"training.horizon": {"from": "a", "to": 5, "count": 3}}, "numbers as from and to"),
        ({}, "from 1 to 10,000 combinations, got 0"),
        ({"training.seed": list(range(101)), "training.horizon": list(range(1, 101))}, "got 10,100"),
        (None, "axes must be a Mapping"),
    ],
)
def test_axes_are_checked_before_anything_is_written(axes, told, tmp_path):
    with pytest.raises(tg.BadInput, match=told):
        sweep(TABLES, axes, out=tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


def test_ranges():
    assert axis_values("a.b", {"from": 1, "to": 100, "count": 3, "scale": "log"}) == [1, 10, 100]
    assert axis_values("a.b", {"from": 0.1, "to": 0.3, "count": 3}) == [0.1, 0.2, 0.3]
    assert axis_values("a.b", {"from": 1, "to": 2, "count": 5}) == [1, 2]  # whole numbers, each once


def test_folders_are_kept_apart(done, tmp_path):
    folder, _ = done
    with pytest.raises(tg.BadInput, match="holds a sweep: continue it with --resume"):
        sweep(TABLES, AXES, out=folder)
    with pytest.raises(tg.BadInput, match="holds another sweep"):
        sweep(TABLES, {"problem.arms": [2]}, out=folder, resume=True)
    with pytest.raises(tg.BadInput, match="holds no sweep to continue"):
        sweep(TABLES, AXES, out=tmp_path / "new", resume=True)
    (tmp_path / "other").write_text("")
    with pytest.raises(tg.BadInput, match="not an empty folder"):
        sweep(TABLES, AXES, out=tmp_path)
    with pytest.raises(tg.BadInput, match="holds no sweep"):
        read_sweep(tmp_path)
