"""`tsgrad compare`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tsgrad.checks import BadInput


def compare(
    problem: Annotated[Path, typer.Argument(help="Where the problem and the horizon are: a configuration or a run.")],
    policies: Annotated[
        list[str] | None, typer.Argument(help="Policies: `thompson`, the folder of a run, or a policy file.")
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Steps an episode, if other than the configuration's.")] = None,
    episodes: Annotated[int, typer.Option(help="How many fresh episodes.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Which fresh episodes.")] = 0,
) -> None:
    """Compares policies on the same fresh episodes: `tsgrad compare runs/a runs/b --episodes 100000`.

    Plain Thompson sampling is always among them, and first. With a run as the problem, its policy is compared too.
    """
    from tsgrad.evaluate import compare as run_comparison
    from tsgrad.policies import Policy, Thompson, load
    from tsgrad.train import read_configuration

    configuration = read_configuration(problem / "config.toml" if problem.is_dir() else problem)
    compared: dict[str, Policy] = {"thompson": Thompson()}
    for name in [str(problem)] * problem.is_dir() + (policies or []):
        if name != "thompson":
            compared[name] = load(_policy_file(Path(name)))
    comparison = run_comparison(
        configuration.build_problem(),
        compared,
        horizon=configuration.training.horizon if horizon is None else horizon,
        episodes=episodes,
        seed=seed,
        engine=configuration.training.engine,
        precision=configuration.training.precision,
    )
    Console().print(comparison.table())


def _policy_file(path: Path) -> Path:
    """A policy file, or the one in the folder of a run."""
    if not path.is_dir():
        return path
    if not (path / "policy.json").exists():
        raise BadInput(f"{path} holds no finished run: finish it with 'tsgrad resume {path}'")
    return path / "policy.json"
