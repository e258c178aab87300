"""Who computes, as the command line names it."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tsgrad.simulation import Workers

WorkersName = Annotated[
    str,
    typer.Option(
        "--workers",
        metavar="WORKERS",
        help="Who computes: `local`, `ray` for Ray started here, or `ray:ADDRESS` for a cluster (`ray:auto` for the"
        " one that this machine is part of). The numbers are the same.",
    ),
]


def named_workers(name: str) -> "Workers":
    """The workers of a name: `local`, `ray`, or `ray:ADDRESS`."""
    from tsgrad.checks import BadInput
    from tsgrad.simulation import LOCAL, RayWorkers

    kind, colon, address = name.partition(":")
    if name == "local":
        return LOCAL
    if kind != "ray" or (colon and not address):
        raise BadInput(f"workers must be local, ray, ray:auto or ray:HOST:PORT, got {name!r:.80}")
    return RayWorkers(address or None)
