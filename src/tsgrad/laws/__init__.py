"""Laws: what worlds and pseudo-actions are drawn from."""

from tsgrad.laws.base import InOrder, Law, OrderedLaw, ProductLaw
from tsgrad.laws.beta import BetaDraw, BetaLaw
from tsgrad.laws.categorical import CategoricalLaw
from tsgrad.laws.gamma import GammaDraw, GammaLaw
from tsgrad.laws.largest_shares import largest_shares
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
    "InOrder",
    "Law",
    "NormalDraw",
    "NormalGammaDraw",
    "NormalGammaLaw",
    "NormalLaw",
    "OrderedLaw",
    "ProductLaw",
    "largest_shares",
]
