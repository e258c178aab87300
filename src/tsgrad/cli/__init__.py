"""The command line: one file per command. Help imports neither NumPy nor JAX: commands import what they need."""

import os
import sys
from typing import Annotated, Any, NoReturn

import typer

from tsgrad.cli.compare import compare
from tsgrad.cli.engines import engines
from tsgrad.cli.evaluate import evaluate
from tsgrad.cli.fit import fit
from tsgrad.cli.interrupts import INTERRUPTED, leave, leaving
from tsgrad.cli.ledger import ledger_app
from tsgrad.cli.report import report
from tsgrad.cli.reproduce import reproduce
from tsgrad.cli.retune import retune
from tsgrad.cli.robustness import robustness
from tsgrad.cli.serve import serve
from tsgrad.cli.sweep import EXAMPLE_SWEEP, sweep
from tsgrad.cli.train import EXAMPLE_CONFIGURATION, resume, train
from tsgrad.cli.variance import variance


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # slow to import, and seldom needed

        typer.echo(f"tsgrad {version('tsgrad')}")
        raise typer.Exit


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Tunes Thompson sampling: from a Bayesian bandit and a horizon to the sampling policy that earns most.",
)


@app.callback()
def _(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Shows the version and exits.")
    ] = False,
) -> None: ...


app.command(epilog=EXAMPLE_CONFIGURATION)(train)
app.command()(resume)
app.command()(compare)
app.command(epilog=EXAMPLE_SWEEP)(sweep)
app.command()(reproduce)
app.command()(report)
app.command()(variance)
app.command()(engines)
app.command()(fit)
app.command()(evaluate)
app.command()(robustness)
app.command()(retune)
app.command()(serve)
app.add_typer(ledger_app, name="ledger")

WrongUsage: Any = typer.BadParameter.__mro__[1]  # click's UsageError, be it typer's own copy of click or not


def main() -> NoReturn:
    """What `tsgrad` is. Ctrl-C ends it with exit code 130, a reader of its output that goes away with 1."""
    with leaving():
        try:
            run()
        except SystemExit as end:
            if end.code == INTERRUPTED:
                leave()
            raise


def run() -> NoReturn:
    """The command line; bad input is one line on standard error, and exit code 2."""
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except BrokenPipeError:
        # Nobody reads any more: what is still to be printed must go nowhere, also when Python says goodbye.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)  # as typer says where it is the first to notice
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except WrongUsage as error:
        message = " ".join(error.format_message().split())
        if message:  # without a command, help was printed instead
            print(f"tsgrad: {message}{_received(error)} (see tsgrad --help)", file=sys.stderr)
        sys.exit(2)
    except (ValueError, ArithmeticError) as error:
        from tsgrad.checks import BadInput, TrainingStopped

        if not isinstance(error, BadInput | TrainingStopped):
            raise
        print(f"tsgrad: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, BadInput) else 1)


def _received(error: Any) -> str:
    """The value that is no number, where typer's message leaves it out: its cause is pydantic's error, which has it."""
    details: Any = getattr(error.__cause__, "errors", list)()
    return f", got {details[0]['input']!r}" if details else ""
