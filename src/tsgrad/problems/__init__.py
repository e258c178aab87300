"""Problems: a world, rewards, and what is believed about them."""

from tsgrad.problems.base import FiniteArms, IndependentArms, Problem
from tsgrad.problems.bernoulli import BernoulliBandit
from tsgrad.problems.gaussian import GaussianBandit
from tsgrad.problems.laws import BetaDraw, BetaLaw, Law, NormalDraw, NormalLaw, ProductLaw

__all__ = [
    "BernoulliBandit",
    "BetaDraw",
    "BetaLaw",
    "FiniteArms",
    "GaussianBandit",
    "IndependentArms",
    "Law",
    "NormalDraw",
    "NormalLaw",
    "Problem",
    "ProductLaw",
]
