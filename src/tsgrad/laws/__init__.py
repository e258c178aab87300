"""Laws: what worlds and pseudo-actions are drawn from."""

from tsgrad.laws.base import Law, OrderedLaw, ProductLaw
from tsgrad.laws.beta import BetaDraw, BetaLaw
from tsgrad.laws.categorical import CategoricalLaw
from tsgrad.laws.gamma import GammaDraw, GammaLaw
from tsgrad.laws.multivariate import FramedDraw, FramedNormalLaw
from tsgrad.laws.normal import NormalDraw, NormalLaw
from tsgrad.laws.normal_gamma import NormalGammaDraw, NormalGammaLaw

__all__ = [
    "BetaDraw",
    "BetaLaw",
    "CategoricalLaw",
    "FramedDraw",
    "FramedNormalLaw",
    "GammaDraw",
    "GammaLaw",
    "Law",
    "NormalDraw",
    "NormalGammaDraw",
    "NormalGammaLaw",
    "NormalLaw",
    "OrderedLaw",
    "ProductLaw",
]
