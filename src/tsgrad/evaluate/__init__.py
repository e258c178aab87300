"""Evaluation: policies on common episodes."""

from tsgrad.evaluate.comparison import Comparison, compare
from tsgrad.evaluate.diagnosis import Diagnosis, diagnose

__all__ = ["Comparison", "Diagnosis", "compare", "diagnose"]
