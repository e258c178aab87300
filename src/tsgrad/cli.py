"""The command line: train, resume, compare, engines."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tsgrad.checks import BadInput, TrainingStopped

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Tunes Thompson sampling: from a Bayesian bandit and a horizon to the sampling policy that earns most.",
)

WrongUsage: Any = typer.BadParameter.__mro__[1]  # click's UsageError, be it typer's own copy of click or not

EXAMPLE_CONFIGURATION = """
A configuration file:

    [problem]
    kind = "gaussian"
    prior_mean = 0.0
    prior_std = 1.0
    noise_std = [0.1, 0.4, 1.0, 4.0, 10.0]

    [estimator]
    metric = "mean"       # obs, mean, fin, bayes, q
    baseline = "self"     # null, oracle, self, value

    [training]
    horizon = 50
    episodes = 1000
    iterations = 1000
    learning_rate = 0.05
    seed = 0
"""


@app.command(epilog=EXAMPLE_CONFIGURATION)
def train(
    config: Annotated[Path, typer.Argument(help="The configuration, a TOML file.")],
    out: Annotated[Path, typer.Option(help="The folder to write the run to; it must be new or empty.")],
) -> None:
    """Trains a policy: `tsgrad train hetero.toml --out runs/hetero`."""
    from tsgrad.train import read_configuration
    from tsgrad.train import train as run_training

    configuration = read_configuration(config)
    problem = configuration.build_problem()
    settings = configuration.training.model_dump()
    estimator = configuration.estimator.build()
    policy = configuration.build_policy(problem)
    _finish(lambda: run_training(problem, policy, estimator, out=out, progress=True, **settings), out)


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of a run that was stopped.")],
) -> None:
    """Continues a run that was stopped: `tsgrad resume runs/hetero`. The result is that of a run never stopped."""
    from tsgrad.train import resume as resume_training

    _finish(lambda: resume_training(folder, progress=True), folder)


@app.command()
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


@app.command()
def engines() -> None:
    """Says which engines can be used on this machine, and for what."""
    from tsgrad.simulate import engines as all_engines

    table = Table("engine", "available", "detail")
    for engine in all_engines():
        table.add_row(engine.name, "yes" if engine.available else "no", engine.detail)
    Console().print(table)


def _finish(work: Any, folder: Path) -> None:
    """Runs training and says what came of it; Ctrl-C leaves a run that resumes."""
    try:
        run = work()
    except KeyboardInterrupt:
        typer.echo(f"Stopped. Continue with: tsgrad resume {folder}", err=True)
        raise typer.Exit(130) from None
    before, after = run.start.meta_parameters(), run.policy.meta_parameters()
    table = Table("meta-parameter", "before", "after", title="What training changed")
    for name in before:
        table.add_row(name, _numbers(before[name]), _numbers(after[name]))
    Console().print(table)
    typer.echo(str(run))
    typer.echo(f"Policy: {folder / 'policy.json'}")


def _policy_file(path: Path) -> Path:
    """A policy file, or the one in the folder of a run."""
    if not path.is_dir():
        return path
    if not (path / "policy.json").exists():
        raise BadInput(f"{path} holds no finished run: finish it with 'tsgrad resume {path}'")
    return path / "policy.json"


def _numbers(values: Any) -> str:
    import numpy as np

    return " ".join(f"{value:.3g}" for value in np.ravel(values))


def main() -> None:
    """The command line; bad input is one line on standard error, and exit code 2."""
    try:
        sys.exit(app(standalone_mode=False))
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BadInput as error:
        print(f"tsgrad: {error}", file=sys.stderr)
        sys.exit(2)
    except WrongUsage as error:
        print(f"tsgrad: {' '.join(error.format_message().split())} (see tsgrad --help)", file=sys.stderr)
        sys.exit(2)
    except TrainingStopped as error:
        print(f"tsgrad: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
