"""The rivals that a trained policy is held against: those of the experiments, wherever they are defined."""

from tsgrad.checks import BadInput
from tsgrad.experiments.rivals import PLAIN, RIVALS
from tsgrad.policies import Policy
from tsgrad.problems import AnyProblem

SPOKEN = {PLAIN: "Thompson sampling", "Gittins": "finite-horizon Gittins", "KG": "knowledge gradient"}


def spoken_rival(name: str) -> str:
    """A rival's name in sentences and figures.

    >>> spoken_rival("KG"), spoken_rival("Bayes-UCB")
    ('knowledge gradient', 'Bayes-UCB')
    """
    return SPOKEN.get(name, name)


def applicable_rivals(problem: AnyProblem, horizon: int) -> dict[str, Policy]:
    """The rivals that are defined for a problem and this horizon, prepared for it, by their spoken names.

    >>> from tsgrad.problems import BernoulliBandit
    >>> "knowledge gradient" in applicable_rivals(BernoulliBandit(arms=2), 10)
    False
    """
    prepared: dict[str, Policy] = {}
    for name, rival in RIVALS.items():
        if name == PLAIN:
            continue
        try:
            prepared[spoken_rival(name)] = rival.build().prepare(problem, horizon)
        except BadInput:  # not defined here, or its table would be too large
            continue
    return prepared
