"""What float32 can carry of a problem. Beyond that nothing would warn: the arms' means would round to one
number, and one arm would always be played.
"""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_choice
from tsgrad.problems.misspecified import AnyProblem

SMALLEST, LARGEST = 1e-15, 1e15  # whose squares are still far from the ends of float32
FARTHEST = 1e5  # spreads from zero that means may be: there a rounding is 0.006 of a spread
STRONGEST = 1e7  # rewards that a prior may be worth: beyond, one reward more changes nothing in float32


@functools.singledispatch
def float32_limits(problem: Any) -> Iterator[str]:
    """Sentences about what float32 can't carry of a problem; none for problems that say nothing.

    A problem of your own says it with `@float32_limits.register`.
    """
    yield from ()


def check_precision(problem: AnyProblem, precision: str) -> None:
    """Refuses a problem whose numbers float32 can't carry, where it is to be computed in float32."""
    check_choice("precision", precision, ("float32", "float64"))
    if precision == "float64":
        return
    for side in (problem.truth, problem.model):
        for limit in float32_limits(side):
            raise BadInput(f"{limit} in float32: use precision='float64', or other units")


def within(name: str, values: FloatArray, low: float = SMALLEST, high: float = LARGEST) -> Iterator[str]:
    """Whether numbers stay between two others.

    >>> list(within("noise_std", np.array([1.0, 1e-20])))
    ['noise_std must be from 1e-15 to 1e+15, got 1e-20,']
    """
    wrong = np.ravel(values)[(np.ravel(values) < low) | (np.ravel(values) > high)]
    if wrong.size:
        yield f"{name} must be from {low:g} to {high:g}, got {wrong[0]:g},"


def near(name: str, means: FloatArray, spread: FloatArray) -> Iterator[str]:
    """Whether means are near enough to zero, for what arms may differ by: by their spread, or by their means."""
    scale = max(float(np.max(spread)), float(np.ptp(means)))
    farthest = float(np.max(np.abs(means)))
    if farthest > FARTHEST * scale:
        yield f"{name} must be within {FARTHEST:g} times what arms differ by ({scale:.3g}), got {farthest:g},"
