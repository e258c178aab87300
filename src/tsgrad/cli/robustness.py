"""`tsgrad robustness`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def robustness(
    folder: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    episodes: Annotated[int, typer.Option(help="How many fresh episodes for each scenario.")] = 4096,
    seed: Annotated[int, typer.Option(help="The seed of these episodes.")] = 0,
) -> None:
    """Shows how much of a gain is left where the assumptions are wrong: `tsgrad robustness runs/a`.

    Its picture is `figures/robustness.png` in the folder of the run.
    """
    from tsgrad.live import robustness as measured
    from tsgrad.report import save_figure
    from tsgrad.report.robustness_section import gain_by_scenario
    from tsgrad.training import RunFolder

    run = RunFolder(folder).run()
    with Console(stderr=True).status(f"Playing {episodes:,} episodes in every scenario"):
        found = measured(run, episodes=episodes, seed=seed)
    typer.echo(str(found))
    save_figure(gain_by_scenario(found), folder / "figures", "robustness")
    typer.echo(f"Picture: {folder / 'figures' / 'robustness.png'}")
