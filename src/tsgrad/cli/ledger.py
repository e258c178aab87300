"""`tsgrad ledger export` and `tsgrad ledger check`."""

from pathlib import Path
from typing import Annotated, Any

import typer

Url = Annotated[str, typer.Argument(help="The ledger: sqlite:///file.db or postgresql://user@host/db.")]

ledger_app = typer.Typer(no_args_is_help=True, help="Checks and exports the ledger of an experiment.")


@ledger_app.command()
def export(
    ledger: Url, out: Annotated[Path, typer.Option(help="The file to write, which ends in .parquet or .csv.")]
) -> None:
    """Writes decisions with their rewards as a table: `tsgrad ledger export sqlite:///a.db --out log.parquet`."""
    from tsgrad.live.export import export_ledger

    rows = with_ledger(ledger, lambda opened: export_ledger(opened, out))
    typer.echo(f"{rows} decisions: {out}")


@ledger_app.command()
def check(ledger: Url) -> None:
    """Reads a whole ledger and says whether it is consistent; exit code 1 if it is not."""
    from tsgrad.checks import needs_extra

    with needs_extra("live"):
        from tsgrad_runtime.inspection import inspected

    found = with_ledger(ledger, inspected)
    for kind, count in sorted(found.counts.items()):
        typer.echo(f"{kind}: {count}")
    for fault in found.faults[:20]:
        typer.echo(fault, err=True)
    if found.faults:
        raise typer.Exit(1)
    typer.echo("Nothing is missing, and nothing counts twice.")


def with_ledger(url: str, work: Any) -> Any:
    """What `work` makes of the ledger at a URL, which must be there, and is left as it is."""
    from tsgrad.checks import BadInput, needs_extra

    with needs_extra("live"):
        from tsgrad_runtime.database import LedgerDown
        from tsgrad_runtime.ledger import Ledger

    try:
        return work(Ledger(url, reading=True))
    except LedgerDown as down:
        raise BadInput(f"ledger can't be read: {down}") from None
