"""`tsgrad report`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a finished run, of a reproduction, or of a sweep.")],
    episodes: Annotated[int, typer.Option(help="How many fresh episodes to try a run's policies on.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The seed of these episodes.")] = 0,
    rivals: Annotated[bool, typer.Option(help="Whether to try the rivals that apply to a run's problem, too.")] = True,
    robustness: Annotated[
        bool | None,
        typer.Option(
            help="Whether to test the run where its assumptions are wrong; by default if it has no conditions."
        ),
    ] = None,
    without: Annotated[
        Path | None,
        typer.Option(
            help="A run of the same problem trained without these conditions, to show what ignoring them costs."
        ),
    ] = None,
    arms: Annotated[str | None, typer.Option(help="The names of a run's arms, with commas between them.")] = None,
    unit: Annotated[str, typer.Option(help="The unit of a reward, such as clicks.")] = "reward",
    figures: Annotated[bool, typer.Option(help="Whether to write figures too, as PNG, SVG and PDF.")] = False,
) -> None:
    """Writes the report of a run, one page: `tsgrad report runs/hetero`.

    Reproductions and sweeps are not evaluated again: their page and figures are made from the results they have.
    """
    from tsgrad.report import write_reproduction_report, write_run_report, write_sweep_report

    if (folder / "config.toml").exists():
        with Console(stderr=True).status(f"Playing policies on {episodes:,} episodes"):
            path = write_run_report(
                folder,
                episodes=episodes,
                seed=seed,
                rivals=rivals,
                robustness=robustness,
                without=without,
                arms=None if arms is None else [name.strip() for name in arms.split(",")],
                unit=unit,
                figures=figures,
            )
    elif (folder / "sweep.toml").exists():
        path = write_sweep_report(folder, figures=figures)
    else:
        path = write_reproduction_report(folder)
    typer.echo(f"Report: {path}")
