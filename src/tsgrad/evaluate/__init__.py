"""Evaluation: policies on common episodes, and the regret that none of them can go below."""

from tsgrad.evaluate.bounds import BoundKind, RegretBound, regret_bound
from tsgrad.evaluate.comparison import Comparison, compare
from tsgrad.evaluate.optimum import optimal_regret

__all__ = ["BoundKind", "Comparison", "RegretBound", "compare", "optimal_regret", "regret_bound"]
