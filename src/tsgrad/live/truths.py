"""What the truth of a problem would be if one thing about it were another; the model, which policies see, stays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.problems import Context, UncertainPrior, has_variations, with_arms_taken
from tsgrad.problems.variations import changed


def varied(truth: Any, change: Callable[[Any], Any]) -> Any | None:
    """A truth after a change of its prior or noise, whichever of several priors it has; None where it has none such.

    >>> from tsgrad.problems import PoissonBandit, with_strength
    >>> truth = UncertainPrior(base=PoissonBandit(arms=2), values=[[1.0, 2.0], [3.0, 4.0]])
    >>> varied(truth, lambda problem: with_strength(problem, 2.0)).values
    array([[2., 4.],
           [6., 8.]])
    """
    if not isinstance(truth, UncertainPrior):
        return change(truth) if has_variations(truth) else None
    base = change(truth.base)
    return (
        None if base is None else UncertainPrior(base=base, values=[_row(truth, row, change) for row in truth.values])
    )


def _row(truth: UncertainPrior, values: FloatArray, change: Callable[[Any], Any]) -> list[float]:
    """One of the priors, after the change."""
    pairs = zip(truth.columns, values, strict=True)
    prior = change(changed(truth.base, **{name: np.full(truth.arms, value) for name, value in pairs}))
    return [float(getattr(prior, name)[0]) for name in truth.columns]


def with_truths_arms(truth: Any, numbers: Any) -> Any | None:
    """A truth with the arms of these numbers; None where it is not said which they would be."""
    if isinstance(truth, UncertainPrior):
        return UncertainPrior(base=with_arms_taken(truth.base, numbers), values=truth.values)
    return with_arms_taken(truth, numbers) if has_variations(truth) else None


def shift_made(model: Any, shifted: Any) -> float:
    """By how many standard deviations of the prior the arms of a model were moved, on average."""
    prior, nothing = model.prior(1), Context()
    before, after = (one.arm_moments(prior, nothing) for one in (model, shifted))
    return float(np.mean((np.asarray(after.mean) - np.asarray(before.mean)) / np.asarray(before.std)))
