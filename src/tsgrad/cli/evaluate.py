"""`tsgrad evaluate`."""

from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    log: Annotated[Path, typer.Argument(help="The log: a CSV or Parquet file, as `tsgrad ledger export` writes.")],
    policy: Annotated[
        Path | None, typer.Option(help="A policy file to replay, on a log whose arms were chosen uniformly at random.")
    ] = None,
    share: Annotated[list[str] | None, typer.Option(help="A fixed policy: ARM=SHARE, once per arm.")] = None,
    arm: Annotated[str, typer.Option(help="The column with the name of the arm that was played.")] = "arm",
    reward: Annotated[str, typer.Option(help="The column of rewards.")] = "reward",
    propensity: Annotated[
        str, typer.Option(help="The column of the probability with which the arm was chosen.")
    ] = "propensity",
    replays: Annotated[int, typer.Option(help="How often to replay.")] = 20,
) -> None:
    """Estimates what a policy would have earned: `tsgrad evaluate log.parquet --share red=0.5 --share blue=0.5`."""
    from tsgrad.live import evaluate_log

    target = _shares(share) if share else None
    found = evaluate_log(
        log, target=target, policy=policy, arm=arm, reward=reward, propensity=propensity, replays=replays
    )
    typer.echo(str(found))


def _shares(texts: list[str]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for name, share in map(_named_share, texts):
        if name in shares:
            from tsgrad.checks import BadInput

            raise BadInput(f"share must be given once per arm, got two for {name!r:.80}")
        shares[name] = share
    return shares


def _named_share(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        from tsgrad.checks import BadInput

        raise BadInput(f"share must be ARM=SHARE, such as red=0.5, got {text!r:.80}") from None
