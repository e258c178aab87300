"""`tsgrad compare`."""

from pathlib import Path
from typing import Annotated

import typer

from tsgrad.cli.policies import NAMES, named_policy
from tsgrad.cli.workers import WorkersName, named_workers


def compare(
    problem: Annotated[Path, typer.Argument(help="Where the problem and the horizon are: a configuration or a run.")],
    policies: Annotated[list[str] | None, typer.Argument(help=f"Policies: {NAMES}")] = None,
    horizon: Annotated[int | None, typer.Option(help="Steps per episode, if other than the configuration's.")] = None,
    episodes: Annotated[int, typer.Option(help="How many fresh episodes.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The seed of these episodes.")] = 0,
    reference: Annotated[
        str | None, typer.Option(help="The policy that gains are measured against; `thompson` by default.")
    ] = None,
    bound: Annotated[
        str, typer.Option(help="Regret that no policy can go below: auto, perfect, FH, V-Zero, optimum, or none.")
    ] = "auto",
    to_precision: Annotated[
        float | None, typer.Option(help="Add episodes until all gains are known to plus or minus this much.")
    ] = None,
    most_episodes: Annotated[
        int, typer.Option(help="The most episodes that --to-precision may add up to.")
    ] = 1_000_000,
    timing: Annotated[bool, typer.Option("--timing", help="Time decisions too.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write a row for each policy to this file.")] = None,
    episodes_csv: Annotated[Path | None, typer.Option(help="Write every episode's regret to this file.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write all of the comparison to this file.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write a table for a paper to this file.")] = None,
    workers: WorkersName = "local",
) -> None:
    """Compares policies on the same fresh episodes: `tsgrad compare runs/a runs/b --episodes 100000`.

    Plain Thompson sampling is always among them, and first. With a run as the problem, its policy is compared too.
    """
    from tsgrad.evaluate import compare as run_comparison
    from tsgrad.evaluate.tables import print_whole
    from tsgrad.policies import Policy, Saved
    from tsgrad.training import read_configuration

    configuration = read_configuration(problem / "config.toml" if problem.is_dir() else problem)
    named = [str(problem)] * problem.is_dir() + (policies or [])
    compared: dict[str, Policy | Saved] = {name: named_policy(name) for name in ["thompson", *named]}
    comparison = run_comparison(
        configuration.build_problem(),
        compared,
        reference=reference,
        bound=None if bound == "none" else bound,  # type: ignore[arg-type]  # names are checked there
        to_precision=to_precision,
        most_episodes=most_episodes,
        timing=timing,
        engine=configuration.engine_of_others,
        workers=named_workers(workers),
        **configuration.build_workload(horizon=horizon, episodes=episodes, seed=seed),
    )
    for path, write in (  # before anything is printed: a reader of the output may go away
        (csv, comparison.to_csv),
        (episodes_csv, comparison.to_episodes_csv),
        (json, comparison.to_json),
        (latex, comparison.to_latex),
    ):
        if path is not None:
            write(path)
    print_whole(comparison.table(), comparison.details())
