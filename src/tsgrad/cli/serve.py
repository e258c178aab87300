"""`tsgrad serve`."""

import os
from pathlib import Path
from typing import Annotated

import typer

GRACE = 3  # seconds for requests under way when the service is told to end; one that hangs must not keep it


def serve(
    policy: Annotated[Path, typer.Argument(help="The policy, a file that training or `tsgrad.write_policy` wrote.")],
    ledger: Annotated[str, typer.Option(help="Where events are kept: sqlite:///file.db or postgresql://user@host/db.")],
    host: Annotated[str, typer.Option(help="The address to listen on; other machines can't reach the default.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=2**16 - 1)] = 8000,
    wait: Annotated[float | None, typer.Option(help="Seconds to wait for a reward before the default counts.")] = None,
    default: Annotated[float, typer.Option(help="The reward that counts if none has come within --wait.")] = 0.0,
    batch: Annotated[
        int | None, typer.Option(help="Update the belief once per this many decisions; by default as in training.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Requests per second, at most.", min=1)] = 20_000.0,
    renewal: Annotated[
        float, typer.Option(help="Seconds between two readings of the rewards that other processes got.", min=0.01)
    ] = 1.0,
) -> None:
    """Serves decisions over HTTP: `tsgrad serve policy.json --ledger sqlite:///experiment.db`.

    Requests carry a bearer token: that in the environment variable TSGRAD_TOKEN decides and reports rewards, that in
    TSGRAD_ADMIN_TOKEN may do all. Where they are not set, fresh ones are printed.
    """
    import secrets

    from tsgrad.checks import BadInput, needs_extra

    with needs_extra("live"):
        import uvicorn

        from tsgrad_runtime import read_artefact
        from tsgrad_runtime.admission import Tokens
        from tsgrad_runtime.connections import MOST_CONNECTIONS, GuardedProtocol
        from tsgrad_runtime.database import LedgerDown
        from tsgrad_runtime.experiment import Experiment
        from tsgrad_runtime.ledger import Ledger
        from tsgrad_runtime.service import application

    names = ("TSGRAD_TOKEN", "TSGRAD_ADMIN_TOKEN")
    given = {name: _token(name) for name in names}
    tokens = Tokens(*(given[name] or secrets.token_urlsafe(24) for name in names))
    artefact = read_artefact(policy)
    try:
        experiment = Experiment(artefact, Ledger(ledger), wait=wait, default=default, batch=batch)
    except LedgerDown as down:
        raise BadInput(f"ledger can't be opened: {down}") from None
    for name, token in zip(names, tokens, strict=True):
        if not given[name]:
            typer.echo(f"{name}={token}")
    typer.echo(
        f"Serving {policy} on http://{host}:{port}, the experiment as a page on /live (any user, a token as password)",
        err=True,
    )
    app = application(experiment, tokens, rate=rate, renewal=renewal)
    # What proxies say of clients is not asked for, so that no request is searched for it.
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        ws="none",
        http=GuardedProtocol,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=GRACE,
    )


def _token(name: str) -> str:
    """What the environment says, without the blanks and line ends around it that files of secrets tend to have: no
    request can carry them.
    """
    from tsgrad.checks import BadInput

    token = os.environ.get(name, "").strip()
    if not token.isprintable():
        raise BadInput(f"{name} must be a text in one line, without control characters: no request can carry those")
    return token
