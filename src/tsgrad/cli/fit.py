"""`tsgrad fit`."""

from pathlib import Path
from typing import Annotated, Any

import typer


def fit(
    log: Annotated[Path, typer.Argument(help="The log: a CSV or Parquet file.")],
    arm: Annotated[str, typer.Option(help="The column with the name of the arm.")],
    reward: Annotated[str, typer.Option(help="The column of rewards, or of their sums where --pulls is given.")],
    family: Annotated[str, typer.Option(help="What rewards are: bernoulli, gaussian or poisson.")] = "bernoulli",
    experiment: Annotated[
        str | None, typer.Option(help="The column with the name of the experiment, if the log has several.")
    ] = None,
    pulls: Annotated[
        str | None, typer.Option(help="The column with the number of rewards in a row, if a row has several.")
    ] = None,
    noise_std: Annotated[
        float | None, typer.Option(help="The standard deviation of a single normal reward, if it is known.")
    ] = None,
    arms: Annotated[int, typer.Option(help="How many arms the next experiment has.")] = 10,
    uncertain: Annotated[
        bool, typer.Option("--uncertain", help="Write the problem whose prior is as uncertain as the fit is.")
    ] = False,
    picture: Annotated[Path | None, typer.Option(help="Where to write a picture of the fit, a PNG file.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the problem, a TOML file for training.")] = None,
) -> None:
    """Fits a prior to past experiments: `tsgrad fit log.csv --arm item --reward click --out prior.toml`."""
    import tomli_w
    from rich.console import Console

    from tsgrad.artefact import write_text
    from tsgrad.live import fit_prior
    from tsgrad.registry import to_data

    console = Console(stderr=True)
    with console.status("Fitting the prior"):
        found = fit_prior(
            log, family=family, arm=arm, reward=reward, experiment=experiment, pulls=pulls, noise_std=noise_std
        )
    problem = found.uncertain(arms=arms) if uncertain else found.problem(arms=arms)
    with console.status("Fitting 99 logs like it, to judge the fit"):
        said = str(found)
    typer.echo(said)
    if picture is not None:
        found.picture(picture)
        typer.echo(f"Picture: {picture}")
    if out is not None:
        write_text(out, tomli_w.dumps({"problem": _in_short(to_data(problem), arms)}))
        typer.echo(f"Problem: {out}; add a table [training] with the horizon, then: tsgrad train {out} --out FOLDER")


def _in_short(problem: dict[str, Any], arms: int) -> dict[str, Any]:
    """All arms have the same prior: one number each, and how many arms there are; likewise in problems of problems."""
    if not any(isinstance(value, dict) for value in problem.values()):
        return {
            **{name: value[0] if isinstance(value, list) else value for name, value in problem.items()},
            "arms": arms,
        }
    return {name: _in_short(value, arms) if isinstance(value, dict) else value for name, value in problem.items()}
