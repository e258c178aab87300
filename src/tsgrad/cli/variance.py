"""`tsgrad variance`."""

from pathlib import Path
from typing import Annotated

import typer

from tsgrad.cli.workers import WorkersName, named_workers


def variance(
    problem: Annotated[Path, typer.Argument(help="A configuration, or a run, whose policy is then studied.")],
    pairs: Annotated[
        list[str] | None,
        typer.Argument(help="Pairs like `mean/self`; by default all that take less than a few minutes."),
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Steps per episode, if other than the configuration's.")] = None,
    episodes: Annotated[int, typer.Option(help="How many episodes; pairs with look-aheads may get fewer.")] = 16_384,
    seed: Annotated[int, typer.Option(help="The seed of these episodes.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write table and figure to this path with .csv, .png, .svg and .pdf added.")
    ] = None,
    workers: WorkersName = "local",
) -> None:
    """Measures which estimator is the best buy: `tsgrad variance hetero.toml --out figures/hetero`.

    Every pair of metric and baseline is measured on the same episodes: its bias, its variance, and its time on the
    engine that would be used. Options of the configuration's estimator apply to all pairs that take them.
    """
    from tsgrad.artefact import write_text
    from tsgrad.checks import BadInput, check_choice
    from tsgrad.cli.policies import named_policy
    from tsgrad.evaluate import admissible, affordable, estimator_pairs, variance_study
    from tsgrad.evaluate.tables import print_whole
    from tsgrad.policies import SamplingPolicy, Saved
    from tsgrad.training import read_configuration

    configuration = read_configuration(problem / "config.toml" if problem.is_dir() else problem)
    bandit = configuration.build_problem()
    given = named_policy(str(problem / "trained.json")) if problem.is_dir() else configuration.build_policy(bandit)
    policy = given.policy if isinstance(given, Saved) else given
    if not isinstance(policy, SamplingPolicy):
        raise BadInput(f"policy must be one that training moves, got {type(policy).__name__}")
    workload = configuration.build_workload(horizon=horizon, episodes=episodes, seed=seed)
    options = {} if configuration.estimator is None else configuration.estimator.model_dump()
    known = estimator_pairs(bandit, **{name: options[name] for name in options.keys() - {"metric", "baseline"}})
    admitted = admissible(known, bandit, workload["conditions"])
    chosen = (
        {check_choice("pair", name, known): known[name] for name in pairs}
        if pairs
        else affordable(admitted, workload["horizon"])
    )
    study = variance_study(
        bandit,
        policy,
        chosen,
        engine=configuration.engine_of_others,
        workers=named_workers(workers),
        **workload,
    )
    print_whole(study.table())
    if not pairs:
        barred = [name for name in known if name not in admitted]
        slow = [name for name in admitted if name not in chosen]
        _tell_left_out(barred, "they are not admissible here", "name one to be told why")
        _tell_left_out(slow, "their look-aheads take minutes", "name them to have them")
    typer.echo(study.advice)
    if out is not None:
        from tsgrad.report.variance_chart import write_variance_chart

        write_text(f"{out}.csv", study.csv())
        for path in [f"{out}.csv", *write_variance_chart(study, out)]:
            typer.echo(f"Wrote {path}")


def _tell_left_out(names: list[str], why: str, remedy: str) -> None:
    if names:
        typer.echo(f"Left out, because {why}: {' '.join(names)}; {remedy}.")
