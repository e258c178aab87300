"""What the truth of a problem would be if one thing about it were another; the model, which policies see, stays."""

from typing import Any

import numpy as np

from tsgrad.problems import Context


def shift_made(model: Any, shifted: Any) -> float:
    """By how many standard deviations of the prior the arms of a model were moved, on average."""
    prior, nothing = model.prior(1), Context()
    before, after = (one.arm_moments(prior, nothing) for one in (model, shifted))
    return float(np.mean((np.asarray(after.mean) - np.asarray(before.mean)) / np.asarray(before.std)))
