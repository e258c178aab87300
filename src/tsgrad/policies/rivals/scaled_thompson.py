"""Thompson sampling with draws that stray from the posterior mean by one factor more, or less."""

from typing import Any

import numpy as np
from jaxtyping import Array, Integer

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.index import IndexPolicy
from tsgrad.policies.rivals.base import PreparedRival, check_applies, has_normal_arms, stacked_rows
from tsgrad.problems import AnyProblem, Context, FiniteArms, NormalArm, Problem, largest
from tsgrad.registry import register
from tsgrad.streams import Noise


@register("scaled-thompson")
class ScaledThompson(PreparedRival):
    """Plays the largest m + factor (draw - m), m the posterior mean of an arm and draw its mean in a world drawn.

    At factor 1 this is Thompson sampling; for Gaussian arms it draws from N(m, (factor s)^2). A factor above 1 guards
    against a wrong model (Agrawal and Goyal, 2013, need one for their bounds); one below 1 explores less, which pays
    where the horizon is short. The simplest tuning there is, and what reshaped Thompson sampling must beat.

        >>> import tsgrad as tg
        >>> ScaledThompson(0.7).prepare(tg.GaussianBandit(arms=3), horizon=2).spread.round(3).tolist()
        [[[0.7, 0.495]]]
    """

    factor: Leaf

    def __init__(self, factor: Any) -> None:
        self.factor = check_array("factor", factor, above=0)
        if self.factor.ndim:
            raise BadInput(f"factor must be one number, got shape {self.factor.shape}")

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, FiniteArms)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        model = check_applies(self, problem)
        if not has_normal_arms(model):
            return ScaledDraws(self.factor)

        def row(arm: NormalArm, horizon: int) -> FloatArray:
            return np.asarray(self.factor * arm.stds(horizon))[None]

        return IndexPolicy(table=np.zeros((1, 1, horizon)), spread=stacked_rows(row, model, horizon, steps=1))


class ScaledDraws(Memoryless, Policy):
    """What `ScaledThompson` prepares to be where arms are not Gaussian: draws worlds, and scales their means."""

    factor: Leaf

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        mean = model.posterior_means(belief, context)
        drawn = model.means(model.posterior(belief).sample(noise), context)
        return largest(mean + self.factor * (drawn - mean), context)
