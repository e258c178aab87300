"""Events: all that ever happens to an experiment. Its state is a function of their order, and of nothing else."""

from typing import Any, Literal, NamedTuple, get_args

Kind = Literal["decision", "activation", "reward", "default", "arm", "withdrawal"]
KINDS = get_args(Kind)


class Event(NamedTuple):
    """One thing that happened.

    `arm` is the name of an arm, or a vector where every vector is one. `features` are those of all arms where they
    differ between decisions; `available` the arms that could be played, None where all could. `shown` is false for a
    choice that waits to be activated. `parameters` are those of an arm that was added.
    """

    kind: Kind
    at: float  # seconds since 1970
    decision: str | None = None
    arm: Any = None
    propensity: float | None = None
    features: Any = None
    available: list[str] | None = None
    shown: bool = True
    reward: float | None = None
    parameters: dict[str, Any] | None = None
    policy: str | None = None  # the name of the artefact that decided
