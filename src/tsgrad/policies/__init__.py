"""Policies: plain Thompson sampling, and the families that training moves."""

from tsgrad.policies.allocating import AllocatingPolicy, Experiment, Planner
from tsgrad.policies.base import (
    Clock,
    Memoryless,
    Policy,
    SamplesArms,
    SamplesArmValues,
    SamplesWorlds,
    SamplingPolicy,
    computed_once,
    parameter_fields,
    parameter_names,
    parameter_vector,
    plain_meta_parameters,
    prepared,
    split,
    with_parameters,
)
from tsgrad.policies.bonus import Bonus, BonusThompson
from tsgrad.policies.bonus_surface import BonusSurface
from tsgrad.policies.index import IndexPolicy
from tsgrad.policies.other_arms import with_arms
from tsgrad.policies.pretrained import pretrained
from tsgrad.policies.recurrent import RecurrentPolicy, RecurrentThompson
from tsgrad.policies.reshaped import ReshapedGaussian, ReshapedThompson
from tsgrad.policies.reshaped_bernoulli import ReshapedBernoulli
from tsgrad.policies.reshaped_evidence import ReshapedEvidence
from tsgrad.policies.reshaped_normal import ReshapedNormal
from tsgrad.policies.rivals import (
    ABTest,
    BatchKnowledgeGradient,
    BayesUCB,
    ExploreThenCommit,
    FiniteHorizonGittins,
    Greedy,
    InformationDirected,
    KnowledgeGradient,
    OptimisticGittins,
    RelaxationSampling,
    ResidualHorizon,
    Rival,
    SatisficingThompson,
    ScaledThompson,
    SuccessiveElimination,
    TopTwoThompson,
    Uniform,
    check_applies,
)
from tsgrad.policies.rl2 import RL2, RL2Policy
from tsgrad.policies.saved import Saved, load
from tsgrad.policies.shifted import shifted
from tsgrad.policies.soft_elim import SoftElim
from tsgrad.policies.thompson import Thompson

__all__ = [
    "RL2",
    "ABTest",
    "AllocatingPolicy",
    "BatchKnowledgeGradient",
    "BayesUCB",
    "Bonus",
    "BonusSurface",
    "BonusThompson",
    "Clock",
    "Experiment",
    "ExploreThenCommit",
    "FiniteHorizonGittins",
    "Greedy",
    "IndexPolicy",
    "InformationDirected",
    "KnowledgeGradient",
    "Memoryless",
    "OptimisticGittins",
    "Planner",
    "Policy",
    "RL2Policy",
    "RecurrentPolicy",
    "RecurrentThompson",
    "RelaxationSampling",
    "ReshapedBernoulli",
    "ReshapedEvidence",
    "ReshapedGaussian",
    "ReshapedNormal",
    "ReshapedThompson",
    "ResidualHorizon",
    "Rival",
    "SamplesArmValues",
    "SamplesArms",
    "SamplesWorlds",
    "SamplingPolicy",
    "SatisficingThompson",
    "Saved",
    "ScaledThompson",
    "SoftElim",
    "SuccessiveElimination",
    "Thompson",
    "TopTwoThompson",
    "Uniform",
    "check_applies",
    "computed_once",
    "load",
    "parameter_fields",
    "parameter_names",
    "parameter_vector",
    "plain_meta_parameters",
    "prepared",
    "pretrained",
    "shifted",
    "split",
    "with_arms",
    "with_parameters",
]
