"""The rivals that a trained policy is held against: those that serious work compares with, and doing nothing clever."""

from collections.abc import Mapping

from tsgrad.checks import BadInput
from tsgrad.policies import Policy
from tsgrad.policies.rivals import (
    BayesUCB,
    FiniteHorizonGittins,
    Greedy,
    InformationDirected,
    KnowledgeGradient,
    OptimisticGittins,
    TopTwoThompson,
)
from tsgrad.problems import Bandit

RIVALS: Mapping[str, Policy] = {
    "finite-horizon Gittins": FiniteHorizonGittins(),
    "knowledge gradient": KnowledgeGradient(),
    "OGI, knowing the horizon": OptimisticGittins("left"),
    "OGI": OptimisticGittins(),
    "IDS": InformationDirected(),
    "Bayes-UCB": BayesUCB(),
    "top-two Thompson": TopTwoThompson(),
    "greedy": Greedy(),
}


def applicable_rivals(problem: Bandit, horizon: int) -> dict[str, Policy]:
    """The rivals that are defined for a problem and this horizon, prepared for it.

    >>> from tsgrad.problems import BernoulliBandit
    >>> "knowledge gradient" in applicable_rivals(BernoulliBandit(arms=2), 10)
    False
    """
    prepared = {}
    for name, rival in RIVALS.items():
        try:
            prepared[name] = rival.prepare(problem, horizon)
        except BadInput:  # not defined here, or its table would be too large
            continue
    return prepared
