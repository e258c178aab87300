"""What an agent decides, and what waits for a reward."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Decision:
    """What was decided.

    The propensity is computed when it is first asked for: its quadrature takes longer than the decision itself.

    Attributes:
        id: to report the reward under.
        arm: the name of the arm, or a vector where every vector is an arm.

    """

    __slots__ = ("_chance", "arm", "id")

    def __init__(self, identity: str, arm: Any, chance: Callable[[], float | None]) -> None:
        self.id, self.arm, self._chance = identity, arm, chance

    @property
    def propensity(self) -> float | None:
        """The probability with which the arm was chosen; None where every vector is an arm."""
        return self._chance()

    def __repr__(self) -> str:
        return f"Decision(id={self.id!r}, arm={self.arm!r}, propensity={self.propensity!r})"


class Open(NamedTuple):
    """A decision without a reward so far."""

    arm: Any  # its index, or a vector
    features: Any
    at: float
