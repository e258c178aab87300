"""Sweeps: how the gain depends on the problem. One training for every combination of values, each a run like any other.

A sweep has a folder: `sweep.toml` says what it is, `runs/` has the run of every combination, and once all are done
there are `table.csv` and `table.parquet`. Whatever stops it, another call goes on from there, to the same files.
"""

import functools
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w
from rich.table import Table

from tsgrad.artefact import TEMPORARY, Taken, write_text, write_whole
from tsgrad.checks import BadInput, check_flag, check_path, check_type
from tsgrad.evaluate.digits import INTERVAL_Z, common_decimals, fixed
from tsgrad.evaluate.tables import Column, Line, as_text, csv_text, terminal_table
from tsgrad.experiments.axes import MOST_RUNS, axis_values, combinations, configuration_at
from tsgrad.simulation import LOCAL, Workers, check_workers
from tsgrad.training import Configuration, RunFolder, read_tables, train_configuration
from tsgrad.training import resume as resume_training

Told = Callable[[int, int], object]  # how many runs are done, of how many


class SweepRow(NamedTuple):
    """A run of a sweep: the values of its axes, by field, and what training gained there."""

    run: str  # its folder, below that of the sweep
    values: dict[str, Any]
    start_regret: float
    gain: float
    gain_standard_error: float
    improved: bool  # whether the gain is beyond chance, so that the run hands back another policy than the start

    @property
    def share(self) -> float:
        """The gain as a share of the regret at the start."""
        return self.gain / self.start_regret if self.start_regret > 0 else 0.0

    @property
    def share_standard_error(self) -> float:
        """Of the share, with the regret at the start taken as known."""
        return self.gain_standard_error / self.start_regret if self.start_regret > 0 else 0.0

    def record(self) -> dict[str, Any]:
        """As plain data, with the 95% interval of the gain; values that are no single ones are text."""
        values = {
            field: value if isinstance(value, str | int | float | bool) else str(value)
            for field, value in self.values.items()
        }
        return {
            "run": self.run,
            **values,
            "start_regret": self.start_regret,
            "gain": self.gain,
            "gain_standard_error": self.gain_standard_error,
            "gain_low": self.gain - INTERVAL_Z * self.gain_standard_error,
            "gain_high": self.gain + INTERVAL_Z * self.gain_standard_error,
            "gain_share": self.share,
            "improved": self.improved,
        }


class Sweep(NamedTuple):
    """A finished sweep. Prints as a table.

    Attributes:
        axes: the values of each field, by its name.
        rows: one record for each run, with its gain; the last axis changes fastest.

    """

    axes: dict[str, list[Any]]
    rows: tuple[SweepRow, ...]  # the last axis changes fastest

    def spoken(self, field: str) -> str:
        """The name of a field in words; with the name of its table where two axes would have the same name."""
        name = field.rpartition(".")[2]
        alike = [other for other in self.axes if other.rpartition(".")[2] == name]
        return (name if len(alike) == 1 else field).replace("_", " ")

    def records(self) -> list[dict[str, Any]]:
        """A row for each run, as plain data."""
        return [row.record() for row in self.rows]

    def csv(self) -> str:
        """A row for each run, every number to its last digit."""
        return csv_text(self.records())

    def table(self) -> Table:
        """A row for each run, for a terminal."""
        digits = common_decimals([row.gain_standard_error for row in self.rows])
        columns = [Column(field, numbers=False) for field in ("run", *map(self.spoken, self.axes))]
        columns += [Column("start"), Column("gain (s.e.)"), Column("share")]
        lines = [
            Line(
                (
                    row.run.rpartition("/")[2],
                    *(str(value) for value in row.values.values()),
                    fixed(row.start_regret, digits),
                    f"{fixed(row.gain, digits)} ({fixed(row.gain_standard_error, digits)})",
                    f"{fixed(100 * row.share, 1)}%",
                )
            )
            for row in self.rows
        ]
        caption = "start: regret of the policy that training starts from; share: the gain as a part of it."
        return terminal_table("What training gains", columns, lines, caption=caption)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return as_text(self.table())


def sweep(
    configuration: str | Path | Mapping[str, Any],
    axes: Mapping[str, Any] | None = None,
    *,
    out: str | Path,
    resume: bool = False,
    workers: Workers = LOCAL,
    progress: Told = lambda done, of: None,
) -> Sweep:
    """Trains at every combination of values of some fields, and tables what was gained.

    Args:
        configuration: of a training, as tables or as a TOML file; `axes` may be one of its tables.
        axes: for fields by name, such as "training.horizon", a list of values, or a range: a table of `from`, `to`,
            `count` and `scale` ("linear" or "log").
        out: the folder of the sweep; one that others can see too, where workers are on other machines.
        resume: whether to go on with what is in the folder.
        workers: who computes: one run after the other in this process, or side by side with `tsgrad.RayWorkers`.
        progress: told how many runs are done, of how many.

    Returns:
        The gain at every combination, with its standard error.

    Raises:
        BadInput: if an axis is not a key of the configuration, a value can't be used, or the folder is not empty and
            `resume` is false.

    >>> import tempfile
    >>> tables = {"problem": {"kind": "bernoulli"}, "training": {"horizon": 5, "episodes": 256, "iterations": 2}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = sweep(tables, {"problem.arms": [2, 3]}, out=f"{folder}/sweep")
    >>> [row.values for row in found.rows]
    [{'problem.arms': 2}, {'problem.arms': 3}]

    """
    folder = check_path("out", out)
    check_flag("resume", resume)
    check_workers(workers)
    tables, chosen = _checked(configuration, axes)
    runs = [configuration_at(tables, values) for values in combinations(chosen)]
    _claim(folder, tables, chosen, resume=resume)
    folders = run_folders(folder, len(runs))
    left = [(path, run) for path, run in zip(folders, runs, strict=True) if not RunFolder(path).is_finished]
    progress(len(runs) - len(left), len(runs))
    for done, _ in enumerate(workers.each(_trained, left), start=1):
        progress(len(runs) - len(left) + done, len(runs))
    found = read_sweep(folder)
    write_text(folder / "table.csv", found.csv())
    write_whole(folder / "table.parquet", functools.partial(_write_parquet, found))
    return found


def read_sweep(folder: str | Path) -> Sweep:
    """What a finished sweep found, from its folder."""
    folder = check_path("folder", folder)
    if not (folder / "sweep.toml").exists():
        raise BadInput(f"{folder} holds no sweep: there is no sweep.toml in it")
    _, axes = _checked(folder / "sweep.toml", None)
    every = combinations(axes)
    rows = []
    for path, values in zip(run_folders(folder, len(every)), every, strict=True):
        run = RunFolder(path).run()
        name = path.relative_to(folder).as_posix()
        rows.append(SweepRow(name, values, run.plain_regret, run.gain, run.gain_standard_error, run.improved))
    return Sweep(axes, tuple(rows))


def run_folders(folder: Path, count: int) -> list[Path]:
    """The folders of runs, numbered from 1 in the order of the table."""
    digits = max(3, len(str(count)))
    return [folder / "runs" / f"{number:0{digits}}" for number in range(1, count + 1)]


def _trained(item: tuple[Path, Configuration]) -> None:
    """One run: from its start, or from wherever it was stopped."""
    folder, configuration = item
    if (folder / "config.toml").exists():
        resume_training(folder, progress=False)
    else:
        train_configuration(configuration, out=folder, progress=False)


def _checked(
    configuration: str | Path | Mapping[str, Any], axes: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The tables of a configuration without axes, and the values of every axis."""
    if not isinstance(configuration, Mapping):
        configuration = read_tables(check_path("configuration", configuration))
    tables = {name: table for name, table in configuration.items() if name != "axes"}
    given = configuration.get("axes") if axes is None else axes
    check_type("axes", given, Mapping, remedy='such as {"training.horizon": [20, 50]}')
    assert given is not None
    chosen = {str(field): axis_values(str(field), values) for field, values in given.items()}
    count = 1
    for values in chosen.values():
        count *= len(values)
    if not chosen or count > MOST_RUNS:
        raise BadInput(f"axes must have from 1 to {MOST_RUNS:,} combinations, got {count if chosen else 0:,}")
    return tables, chosen


def _claim(folder: Path, tables: Mapping[str, Any], axes: Mapping[str, list[Any]], *, resume: bool) -> None:
    """Makes a folder that of a sweep; with `resume` it must be that of this one already."""
    path = folder / "sweep.toml"
    try:
        text = tomli_w.dumps({**tables, "axes": axes})
    except (TypeError, ValueError) as error:
        raise BadInput(f"configuration must be of tables, text and numbers, as TOML has them: {error!s:.120}") from None
    if path.exists():
        if not resume:
            raise BadInput(f"out: {folder} holds a sweep: continue it with --resume, or choose another folder")
        if read_tables(path) != tomllib.loads(text):
            raise BadInput(f"out: {folder} holds another sweep than the one given: choose another folder")
        for leftover in folder.glob(f".*{TEMPORARY}"):
            leftover.unlink(missing_ok=True)
        return
    if resume:
        raise BadInput(f"out: {folder} holds no sweep to continue: leave --resume out to start one")
    if folder.exists() and (not folder.is_dir() or any(not one.name.endswith(TEMPORARY) for one in folder.iterdir())):
        raise BadInput(f"out: {folder} is not an empty folder: choose another")
    try:
        write_text(path, text, new=True)
    except Taken:
        raise BadInput(f"out: {folder} holds a sweep that was started just now: choose another folder") from None


def _write_parquet(found: Sweep, file: Any) -> None:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(found.records()), file)
