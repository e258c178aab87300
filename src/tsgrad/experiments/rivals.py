"""The rivals of a trained policy, by the names that tables give them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tsgrad.checks import BadInput
from tsgrad.policies import (
    BayesUCB,
    FiniteHorizonGittins,
    InformationDirected,
    KnowledgeGradient,
    OptimisticGittins,
    Policy,
    Thompson,
)
from tsgrad.problems import AnyProblem


class RivalPolicy(NamedTuple):
    """A policy that needs no training, and about how many times as long a step of it takes as one of Thompson's."""

    build: Callable[[], Policy]
    effort: float = 1.0


PLAIN = "TS"  # what gains are over

# Those of the paper, then the strongest that we know. OGI-T, Gittins and KG know the horizon, as trained policies do.
RIVALS = {
    PLAIN: RivalPolicy(Thompson),
    "Bayes-UCB": RivalPolicy(BayesUCB),
    "OGI": RivalPolicy(OptimisticGittins),
    "IDS": RivalPolicy(InformationDirected, effort=300.0),
    "OGI-T": RivalPolicy(partial(OptimisticGittins, discount="left")),
    "Gittins": RivalPolicy(FiniteHorizonGittins),
    "KG": RivalPolicy(KnowledgeGradient, effort=5.0),
}


def applicable_rivals(problem: AnyProblem, horizon: int) -> dict[str, Policy]:
    """The rivals that are defined for a problem and this horizon, prepared for it; without plain Thompson sampling.

    >>> from tsgrad.problems import BernoulliBandit
    >>> "KG" in applicable_rivals(BernoulliBandit(arms=2), 10)
    False
    """
    prepared: dict[str, Policy] = {}
    for name, rival in RIVALS.items():
        if name == PLAIN:
            continue
        try:
            prepared[name] = rival.build().prepare(problem, horizon)
        except BadInput:  # not defined here, or its table would be too large
            continue
    return prepared
