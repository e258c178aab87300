"""`tsgrad reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

from tsgrad.cli.interrupts import INTERRUPTED, leaving
from tsgrad.cli.workers import WorkersName, named_workers


def reproduce(
    setting: Annotated[
        str,
        typer.Argument(
            help="`standard`, `hetero`, `many`, or `all` of them.",
            autocompletion=lambda: ["standard", "hetero", "many", "all"],
        ),
    ],
    fraction: Annotated[
        float | None,
        typer.Option(help="The share of the paper's iterations and evaluation episodes, for a quick look."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of all trainings.")] = None,
    out: Annotated[Path, typer.Option(help="The folder to write to; each setting has a folder in it.")] = Path(
        "runs/reproduce"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Continue what is in the folder.")] = False,
    workers: WorkersName = "local",
) -> None:
    """Makes the paper's tables and figures again: `tsgrad reproduce hetero --out runs/paper`.

    Trains with the paper's five estimators and hyper-parameters, once with 0.4 of its learning rates and once with the
    rates as printed, and with our own recipe; plays the policies and their rivals on common fresh episodes, and writes
    tables, figures and a report, with the printed values beside ours.
    """
    from tsgrad.checks import BadInput, check_choice
    from tsgrad.evaluate.tables import print_whole
    from tsgrad.experiments import (
        SETTINGS,
        Reproduction,
        ReproductionProgress,
        as_printed_table,
        do_apart,
        setting_table,
    )
    from tsgrad.report import write_reproduction_report

    chosen = list(SETTINGS) if check_choice("setting", setting, [*SETTINGS, "all"]) == "all" else [setting]
    begun = [name for name in chosen if (out / name / "plan.json").exists()]
    if resume and not begun:
        raise BadInput(f"out: {out} holds no reproduction of {setting} to continue: leave --resume out to start one")
    reproductions = [
        Reproduction(out / name, setting=name, fraction=fraction, seed=seed, resume=resume and name in begun)
        for name in chosen
    ]
    who = named_workers(workers)
    stopped = f"Stopped. Continue with: tsgrad reproduce {setting} --out {out} --resume"
    try:
        with leaving(lambda: stopped):
            with ReproductionProgress(reproductions) as progress:
                if workers != "local":
                    do_apart(reproductions, who, progress.update)
                found = [reproduction.run(progress.update) for reproduction in reproductions]
            page = write_reproduction_report(out if setting == "all" else out / setting)
    except KeyboardInterrupt:  # of training, which stops between iterations
        typer.echo(stopped, err=True)
        raise typer.Exit(INTERRUPTED) from None
    for results in found:
        print_whole(setting_table(results))
        print_whole(as_printed_table(results))
    typer.echo(f"Report: {page}")
