"""Problems: a world, rewards, and what is believed about them."""

from tsgrad.problems.base import FiniteArms, IndependentArms, Problem
from tsgrad.problems.bernoulli import BernoulliBandit
from tsgrad.problems.contexts import Contexts, FunctionContexts, GaussianContexts, GivenContexts
from tsgrad.problems.gamma_law import GammaDraw, GammaLaw
from tsgrad.problems.gaussian import GaussianBandit
from tsgrad.problems.laws import BetaDraw, BetaLaw, Law, NormalDraw, NormalLaw, ProductLaw
from tsgrad.problems.linear import BallBandit, LinearBandit
from tsgrad.problems.logistic import LogisticBandit
from tsgrad.problems.misspecified import Bandit, Misspecified
from tsgrad.problems.multivariate import FramedDraw, FramedNormalLaw
from tsgrad.problems.normal_prior import NormalPrior
from tsgrad.problems.poisson import PoissonBandit
from tsgrad.problems.unknown_variance import NormalGammaDraw, NormalGammaLaw, UnknownVarianceBandit

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
    "GammaDraw",
    "GammaLaw",
    "GaussianBandit",
    "GaussianContexts",
    "GivenContexts",
    "IndependentArms",
    "Law",
    "LinearBandit",
    "LogisticBandit",
    "Misspecified",
    "NormalDraw",
    "NormalGammaDraw",
    "NormalGammaLaw",
    "NormalLaw",
    "NormalPrior",
    "PoissonBandit",
    "Problem",
    "ProductLaw",
    "UnknownVarianceBandit",
]
