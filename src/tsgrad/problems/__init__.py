"""Problems: a world, rewards, and what is believed about them."""

from tsgrad.problems.assumptions import Assumed, assumed
from tsgrad.problems.base import ArmMoments, Context, FiniteArms, IndependentArms, Problem, largest
from tsgrad.problems.bernoulli import BernoulliBandit
from tsgrad.problems.contexts import Contexts, FunctionContexts, GaussianContexts, GivenContexts
from tsgrad.problems.drifting import DriftingArms
from tsgrad.problems.gaussian import GaussianBandit
from tsgrad.problems.linear import BallBandit, LinearBandit
from tsgrad.problems.logistic import LogisticBandit
from tsgrad.problems.misspecified import AnyProblem, Misspecified
from tsgrad.problems.normal_prior import NormalPrior
from tsgrad.problems.poisson import PoissonBandit
from tsgrad.problems.precision import check_precision, float32_limits
from tsgrad.problems.summed import SummedArms, Sums
from tsgrad.problems.tabled import BetaArm, NormalArm, TabledArms
from tsgrad.problems.uncertain import UncertainPrior
from tsgrad.problems.unknown_variance import UnknownVarianceBandit
from tsgrad.problems.variations import (
    check_varies,
    drift_spread,
    has_variations,
    with_arms_taken,
    with_noise,
    with_shifted_means,
    with_strength,
)

__all__ = [
    "AnyProblem",
    "ArmMoments",
    "Assumed",
    "BallBandit",
    "BernoulliBandit",
    "BetaArm",
    "Context",
    "Contexts",
    "DriftingArms",
    "FiniteArms",
    "FunctionContexts",
    "GaussianBandit",
    "GaussianContexts",
    "GivenContexts",
    "IndependentArms",
    "LinearBandit",
    "LogisticBandit",
    "Misspecified",
    "NormalArm",
    "NormalPrior",
    "PoissonBandit",
    "Problem",
    "SummedArms",
    "Sums",
    "TabledArms",
    "UncertainPrior",
    "UnknownVarianceBandit",
    "assumed",
    "check_precision",
    "check_varies",
    "drift_spread",
    "float32_limits",
    "has_variations",
    "largest",
    "with_arms_taken",
    "with_noise",
    "with_shifted_means",
    "with_strength",
]
