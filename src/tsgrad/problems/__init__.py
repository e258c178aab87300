"""Problems: a world, rewards, and what is believed about them."""

from tsgrad.problems.base import FiniteArms, IndependentArms, Problem
from tsgrad.problems.bernoulli import BernoulliBandit
from tsgrad.problems.contexts import Contexts, FunctionContexts, GaussianContexts, GivenContexts
from tsgrad.problems.gaussian import GaussianBandit
from tsgrad.problems.laws import BetaDraw, BetaLaw, Law, NormalDraw, NormalLaw, ProductLaw
from tsgrad.problems.linear import BallBandit, LinearBandit
from tsgrad.problems.misspecified import Bandit, Misspecified
from tsgrad.problems.multivariate import FramedDraw, FramedNormalLaw
from tsgrad.problems.normal_prior import NormalPrior

__all__ = [
    "BallBandit",
    "Bandit",
    "BernoulliBandit",
    "BetaDraw",
    "BetaLaw",
    "Contexts",
    "FiniteArms",
    "FramedDraw",
    "FramedNormalLaw",
    "FunctionContexts",
    "GaussianBandit",
    "GaussianContexts",
    "GivenContexts",
    "IndependentArms",
    "Law",
    "LinearBandit",
    "Misspecified",
    "NormalDraw",
    "NormalLaw",
    "NormalPrior",
    "Problem",
    "ProductLaw",
]
