"""`tsgrad retune`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tsgrad.cli.interrupts import INTERRUPTED, leaving
from tsgrad.cli.ledger import with_ledger


def retune(
    folder: Annotated[Path, typer.Argument(help="The run whose policy was deployed.")],
    ledger: Annotated[
        str, typer.Option(help="The ledger of its experiment: sqlite:///file.db or postgresql://user@host/db.")
    ],
    out: Annotated[Path, typer.Option(help="A new folder, for the new run.")],
    iterations: Annotated[int | None, typer.Option(help="Iterations of training, if other than the default.")] = None,
    episodes: Annotated[
        int | None, typer.Option(help="Episodes per iteration of training, if other than the default.")
    ] = None,
) -> None:
    """Trains the next version: `tsgrad retune runs/a --ledger sqlite:///a.db --out runs/b`.

    Exit code 1 if it is no better than the policy deployed. Where it was stopped, the same command goes on.
    """
    from tsgrad.live import retune as run_retuning
    from tsgrad.report import write_retuning_report

    asked: dict[str, Any] = {"iterations": iterations, "episodes": episodes}
    given = {name: value for name, value in asked.items() if value is not None}
    stopped = "Stopped. Continue with the same command."
    try:
        with leaving(lambda: stopped):
            found = with_ledger(ledger, lambda opened: run_retuning(folder, opened, out=out, training=given))
    except KeyboardInterrupt:  # of training, which stops between iterations
        typer.echo(stopped, err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(str(found))
    typer.echo(f"Report: {write_retuning_report(found, out)}")
    if not found.replaces:
        raise typer.Exit(1)
    typer.echo(f"Policy: {out / 'next.json'}")
