"""`tsgrad retune`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tsgrad.cli.interrupts import INTERRUPTED, leaving


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
    from tsgrad.checks import BadInput, needs_extra
    from tsgrad.live import retune as run_retuning

    with needs_extra("live"):
        from tsgrad_runtime.ledger import Ledger, LedgerDown

    asked: dict[str, Any] = {"iterations": iterations, "episodes": episodes}
    given = {name: value for name, value in asked.items() if value is not None}
    stopped = "Stopped. Continue with the same command."
    try:
        with leaving(lambda: stopped):
            found = run_retuning(folder, Ledger(ledger), out=out, training=given)
    except LedgerDown as down:
        raise BadInput(f"ledger can't be read: {down}") from None
    except KeyboardInterrupt:  # of training, which stops between iterations
        typer.echo(stopped, err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(str(found))
    if not found.replaces:
        raise typer.Exit(1)
    typer.echo(f"Policy: {out / 'next.json'}")
