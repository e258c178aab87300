"""The rivals of a trained policy, by the names that tables give them."""

from collections.abc import Callable
from typing import NamedTuple

from tsgrad.policies import Policy, Thompson


class RivalPolicy(NamedTuple):
    """A policy that needs no training, and about how many times as long a step of it takes as one of Thompson's."""

    build: Callable[[], Policy]
    effort: float = 1.0


PLAIN = "TS"  # what gains are over


def rivals() -> dict[str, RivalPolicy]:
    """Those of the paper first."""
    return {PLAIN: RivalPolicy(Thompson)}
