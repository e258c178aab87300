"""Wrong models: episodes come from one problem, beliefs from another."""

from typing import TypeAlias

import equinox as eqx

from tsgrad.checks import BadInput
from tsgrad.problems.base import FiniteArms, Problem
from tsgrad.registry import register


@register("misspecified")
class Misspecified(eqx.Module):
    """Episodes are drawn from `truth`; policies and beliefs see only `model`.

    Use it wherever a problem is asked for, to learn what a wrong assumption costs. Contexts are those of the truth.

        >>> from tsgrad.problems import GaussianBandit
        >>> problem = Misspecified(truth=GaussianBandit(arms=3, noise_std=2.0), model=GaussianBandit(arms=3))
        >>> problem.model.noise_std
        array([1., 1., 1.])
    """

    truth: Problem
    model: Problem

    def __init__(self, *, truth: Problem, model: Problem) -> None:
        for name, side in (("truth", truth), ("model", model)):
            if not isinstance(side, Problem):
                raise BadInput(f"{name} must be a problem, got {type(side).__name__}")
        kinds = [side.arms if isinstance(side, FiniteArms) else None for side in (truth, model)]
        if kinds[0] != kinds[1]:
            said = ["infinitely many" if kind is None else kind for kind in kinds]
            raise BadInput(f"truth and model must have the same arms, got {said[0]} and {said[1]}")
        self.truth, self.model = truth, model


AnyProblem: TypeAlias = Problem | Misspecified
