"""Thompson sampling with the posterior's standard deviation times one factor."""

from typing import Any, ClassVar

import numpy as np

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.policies.index import IndexPolicy
from tsgrad.policies.rivals.base import PreparedRival, check_applies, posterior_std, stacked_rows
from tsgrad.problems import AnyProblem, GaussianBandit
from tsgrad.registry import register


@register("scaled-thompson")
class ScaledThompson(PreparedRival):
    """Draws each arm from N(m, (factor s)^2) and plays the largest draw; at factor 1 this is Thompson sampling.

    A factor above 1 guards against a wrong model (Agrawal and Goyal, 2013, need one for their bounds); one below 1
    explores less, which pays where the horizon is short. The simplest tuning there is, and what reshaped Thompson
    sampling must beat.

        >>> import tsgrad as tg
        >>> ScaledThompson(0.7).prepare(tg.GaussianBandit(arms=3), horizon=2).spread.round(3).tolist()
        [[[0.7, 0.495]]]
    """

    problems: ClassVar[tuple[type, ...]] = (GaussianBandit,)

    factor: Leaf

    def __init__(self, factor: Any) -> None:
        self.factor = check_array("factor", factor, above=0)
        if self.factor.ndim:
            raise BadInput(f"factor must be one number, got shape {self.factor.shape}")

    def prepare(self, problem: AnyProblem, horizon: int) -> IndexPolicy:
        def row(prior_std: float, noise_std: float, horizon: int) -> FloatArray:
            return np.asarray(self.factor * posterior_std(prior_std, noise_std, np.arange(horizon, dtype=np.float64)))[
                None
            ]

        spread = stacked_rows(row, check_applies(self, problem), horizon, steps=1)
        return IndexPolicy(table=np.zeros((1, 1, horizon)), spread=spread)
