"""`tsgrad train` and `tsgrad resume`."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tsgrad.cli.interrupts import INTERRUPTED, leaving
from tsgrad.cli.workers import WorkersName, named_workers

EXAMPLE_CONFIGURATION = """
A configuration file:

    [problem]
    kind = "gaussian"
    prior_mean = 0.0
    prior_std = 1.0
    noise_std = [0.1, 0.4, 1.0, 4.0, 10.0]

    [estimator]           # may be left out
    metric = "mean"       # obs, mean, fin, bayes, q
    baseline = "self"     # null, oracle, self, value

    [training]
    horizon = 50
    episodes = 1000
    iterations = 60
    learning_rate = 2.0   # of the natural gradient; falls to zero, schedule = "constant" keeps it
    seed = 0
"""

Report = Annotated[bool, typer.Option(help="Whether to write report.html at the end: seconds, a minute for batches.")]


def train(
    config: Annotated[Path, typer.Argument(help="The configuration, a TOML file.")],
    out: Annotated[Path, typer.Option(help="The folder to write the run to; it must be new or empty.")],
    report: Report = True,
    workers: WorkersName = "local",
) -> None:
    """Trains a policy: `tsgrad train hetero.toml --out runs/hetero`."""
    from tsgrad.training import read_configuration, train_configuration

    configuration, who = read_configuration(config), named_workers(workers)
    _finish(lambda: train_configuration(configuration, out=out, progress=True, workers=who), out, report)


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of a run that was stopped.")],
    report: Report = True,
    workers: WorkersName = "local",
) -> None:
    """Continues a run that was stopped: `tsgrad resume runs/hetero`. The result is that of a run never stopped."""
    from tsgrad.training import resume as resume_training

    who = named_workers(workers)
    _finish(lambda: resume_training(folder, progress=True, workers=who), folder, report)


def _finish(work: Callable[[], Any], folder: Path, report: bool) -> None:
    """Runs training and says what came of it; Ctrl-C leaves a run that resumes."""
    from tsgrad.checks import BadInput
    from tsgrad.simulation import check_playable

    began = time.monotonic()

    def stopped() -> str:
        return f"Stopped. Continue with: tsgrad resume {folder}" if (folder / "config.toml").exists() else "Stopped."

    try:
        with leaving(stopped):
            run = work()
    except KeyboardInterrupt:  # between iterations
        _add_time(folder, time.monotonic() - began)
        typer.echo(stopped(), err=True)
        raise typer.Exit(INTERRUPTED) from None
    _add_time(folder, time.monotonic() - began)
    before, after = run.start.meta_parameters(), run.trained.meta_parameters()
    table = Table("meta-parameter", "before", "after", title="What training changed")
    for name in before:
        table.add_row(name, _numbers(before[name]), _numbers(after[name]))
    Console().print(table)
    typer.echo(str(run))
    typer.echo(f"Policy: {folder / 'policy.json'}")
    try:
        check_playable(run.content())
    except BadInput as unplayable:
        typer.echo(f"It can be compared, but not served: {unplayable}", err=True)
    if report:
        from tsgrad.report import write_run_report

        with Console(stderr=True).status("Playing fresh episodes for the report"):
            path = write_run_report(folder, rivals=False)
        typer.echo(f"Report: {path}")


def _add_time(folder: Path, seconds: float) -> None:
    """Adds to the time that training took; not before its first checkpoint, where a run must look as if not begun."""
    from tsgrad.training import add_seconds

    if (folder / "checkpoint.npz").exists():
        add_seconds(folder, "training", seconds)


def _numbers(values: Any) -> str:
    import numpy as np

    return " ".join(f"{value:.3g}" for value in np.ravel(values))
