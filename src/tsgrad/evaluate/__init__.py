"""Evaluation: policies on common episodes, the regret that none of them can go below, and what estimators cost."""

from tsgrad.evaluate.bounds import FEWEST_EPISODES, BoundKind, RegretBound, regret_bound
from tsgrad.evaluate.comparing import compare
from tsgrad.evaluate.comparison import Comparison
from tsgrad.evaluate.diagnosis import Diagnosis, diagnose
from tsgrad.evaluate.optimum import optimal_regret
from tsgrad.evaluate.pairs import admissible, affordable, estimator_pairs
from tsgrad.evaluate.result import Played, PolicyResult
from tsgrad.evaluate.rivals import PLAIN, RIVALS, Rivals, applicable_rivals, quick_rivals, rivals_of_experiments
from tsgrad.evaluate.statistics import Gain
from tsgrad.evaluate.variance import PairReport, VarianceStudy, variance_study

__all__ = [
    "FEWEST_EPISODES",
    "PLAIN",
    "RIVALS",
    "BoundKind",
    "Comparison",
    "Diagnosis",
    "Gain",
    "PairReport",
    "Played",
    "PolicyResult",
    "RegretBound",
    "Rivals",
    "VarianceStudy",
    "admissible",
    "affordable",
    "applicable_rivals",
    "compare",
    "diagnose",
    "estimator_pairs",
    "optimal_regret",
    "quick_rivals",
    "regret_bound",
    "rivals_of_experiments",
    "variance_study",
]
