"""Rivals: the policies that a tuned one must beat, one file each."""

from tsgrad.policies.rivals.ab_test import ABTest
from tsgrad.policies.rivals.base import Rival, check_applies
from tsgrad.policies.rivals.batch_planners import BatchKnowledgeGradient, ResidualHorizon
from tsgrad.policies.rivals.bayes_ucb import BayesUCB
from tsgrad.policies.rivals.explore_then_commit import ExploreThenCommit
from tsgrad.policies.rivals.gittins import FiniteHorizonGittins
from tsgrad.policies.rivals.greedy import Greedy
from tsgrad.policies.rivals.information_directed import InformationDirected
from tsgrad.policies.rivals.knowledge_gradient import KnowledgeGradient
from tsgrad.policies.rivals.optimistic_gittins import OptimisticGittins
from tsgrad.policies.rivals.relaxation_sampling import RelaxationSampling
from tsgrad.policies.rivals.satisficing import SatisficingThompson
from tsgrad.policies.rivals.scaled_thompson import ScaledThompson
from tsgrad.policies.rivals.successive_elimination import SuccessiveElimination
from tsgrad.policies.rivals.top_two import TopTwoThompson
from tsgrad.policies.rivals.uniform import Uniform

__all__ = [
    "ABTest",
    "BatchKnowledgeGradient",
    "BayesUCB",
    "ExploreThenCommit",
    "FiniteHorizonGittins",
    "Greedy",
    "InformationDirected",
    "KnowledgeGradient",
    "OptimisticGittins",
    "RelaxationSampling",
    "ResidualHorizon",
    "Rival",
    "SatisficingThompson",
    "ScaledThompson",
    "SuccessiveElimination",
    "TopTwoThompson",
    "Uniform",
    "check_applies",
]
