"""The rivals of a trained policy, by the names that tables give them."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from tsgrad.checks import BadInput
from tsgrad.policies import (
    ABTest,
    BayesUCB,
    ExploreThenCommit,
    FiniteHorizonGittins,
    InformationDirected,
    KnowledgeGradient,
    OptimisticGittins,
    Policy,
    SuccessiveElimination,
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


class Rivals(NamedTuple):
    """Those of a problem and a horizon, prepared for it; and with which errors the others refuse them."""

    ready: dict[str, Policy]
    left_out: dict[str, BadInput]


def applicable_rivals(problem: AnyProblem, horizon: int) -> Rivals:
    """The rivals that are defined for a problem and this horizon; without plain Thompson sampling.

    >>> from tsgrad.problems import BernoulliBandit
    >>> rivals = applicable_rivals(BernoulliBandit(arms=2), 10)
    >>> "Gittins" in rivals.ready, list(rivals.left_out)
    (True, ['KG'])
    """
    found = Rivals({}, {})
    for name, rival in RIVALS.items():
        if name == PLAIN:
            continue
        try:
            found.ready[name] = rival.build().prepare(problem, horizon)
        except BadInput as refusal:
            found.left_out[name] = refusal
    return found


def rivals_of_experiments(problem: AnyProblem) -> dict[str, Policy]:
    """What is done in experiments without a bandit, where it is defined; each plans for the experiment it is played in.

    >>> from tsgrad.problems import BernoulliBandit
    >>> list(rivals_of_experiments(BernoulliBandit(arms=2)))
    ['A/B test', 'explore-then-commit', 'successive elimination']
    """
    usual: dict[str, Any] = {
        "A/B test": ABTest,
        "explore-then-commit": ExploreThenCommit,
        "successive elimination": SuccessiveElimination,
    }
    return {name: kind() for name, kind in usual.items() if kind.applies(problem.model)}
