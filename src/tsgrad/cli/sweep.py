"""`tsgrad sweep`."""

from pathlib import Path
from typing import Annotated

import typer

from tsgrad.cli.interrupts import INTERRUPTED, leaving
from tsgrad.cli.workers import WorkersName, named_workers

EXAMPLE_SWEEP = """
A sweep is a configuration with one table more:

    [axes]
    "training.horizon" = { from = 10, to = 1000, count = 5, scale = "log" }
    "problem.arms" = [2, 5, 10]
"""


def sweep(
    configuration: Annotated[Path, typer.Argument(help="The sweep: a configuration with a table [axes].")],
    out: Annotated[Path, typer.Option(help="The folder to write to; on a cluster, one that all machines see.")],
    resume: Annotated[bool, typer.Option("--resume", help="Continue what is in the folder.")] = False,
    workers: WorkersName = "local",
) -> None:
    """Trains at every combination of values: `tsgrad sweep sweep.toml --out runs/sweep --workers ray`.

    Every combination is a run in `runs/`, and the gains are tabled in `table.csv`, `table.parquet` and `report.html`.
    """
    from rich import progress
    from rich.console import Console

    from tsgrad.evaluate.tables import print_whole
    from tsgrad.experiments import sweep as run_sweep
    from tsgrad.report import write_sweep_report

    who = named_workers(workers)
    stopped = f"Stopped. Continue with: tsgrad sweep {configuration} --out {out} --resume"
    bar = progress.Progress(
        progress.TextColumn("training"),
        progress.BarColumn(bar_width=12),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    task = bar.add_task("training", total=None)
    try:
        with leaving(lambda: stopped):
            with bar:
                found = run_sweep(
                    configuration,
                    out=out,
                    resume=resume,
                    workers=who,
                    progress=lambda done, of: bar.update(task, completed=done, total=of),
                )
            page = write_sweep_report(out)
    except KeyboardInterrupt:  # of training, which stops between iterations
        typer.echo(stopped, err=True)
        raise typer.Exit(INTERRUPTED) from None
    print_whole(found.table())
    typer.echo(f"Report: {page}")
