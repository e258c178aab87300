"""Evaluation: policies on common episodes."""

from tsgrad.evaluate.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
