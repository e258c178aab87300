"""The arms of an experiment by their names: which there are, and which are not played any more."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tsgrad_runtime.checks import BadInput


class Roster:
    """Names of arms, in the order of their numbers; those that were withdrawn keep theirs.

    >>> arms = Roster(["red", "blue"])
    >>> arms.add("green")
    >>> arms.withdrawn.add("red")
    >>> arms.number("green"), arms.mask(["red", "green"]).tolist(), arms.mask(None).tolist()
    (2, [False, False, True], [False, True, True])
    """

    def __init__(self, names: Iterable[str], withdrawn: Iterable[str] = ()) -> None:
        self.names: list[str] = []
        self.withdrawn = set(withdrawn)
        self._numbers: dict[str, int] = {}
        for name in names:
            self.add(name)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def add(self, name: str) -> None:
        """One arm more."""
        self._numbers[name] = len(self.names)
        self.names.append(name)

    def number(self, name: Any, what: str = "arm") -> int:
        """The number of an arm; `what` names it in the error where there is none."""
        if not isinstance(name, str) or name not in self._numbers:
            raise BadInput(f"{what} must be one of {', '.join(self.names)!s:.200}, got {name!r:.80}")
        return self._numbers[name]

    def mask(self, available: Iterable[str] | None) -> Any:
        """Which arms can be played, [K], if these are available, or all; None where every arm can be."""
        if available is None and not self.withdrawn:
            return None
        mask = np.zeros(len(self.names), bool)
        for name in self.names if available is None else available:
            mask[self.number(name, "available: arm")] = name not in self.withdrawn
        if not mask.any():
            raise BadInput("available must name an arm that can be played, got none")
        return mask

    def offered(self, mask: Any) -> list[str] | None:
        """The names of the arms in a mask; None where all are."""
        if mask is None or mask.all():
            return None
        return [name for name, there in zip(self.names, mask, strict=True) if there]
