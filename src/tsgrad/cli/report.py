"""`tsgrad report`."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    episodes: Annotated[int, typer.Option(help="How many fresh episodes to try the policies on.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Which fresh episodes.")] = 0,
    rivals: Annotated[bool, typer.Option(help="Whether to try the rivals that apply, too.")] = True,
    figures: Annotated[bool, typer.Option(help="Whether to write the figures too, as PNG, SVG and PDF.")] = False,
) -> None:
    """Writes the page of a run, to read and to send: `tsgrad report runs/hetero`."""
    from tsgrad.report import write_run_report

    typer.echo(f"Report: {write_run_report(folder, episodes=episodes, seed=seed, rivals=rivals, figures=figures)}")
