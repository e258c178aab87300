"""Plain Thompson sampling: draw a world from the posterior, play what is best in it."""

from typing import Any, ClassVar

from tsgrad.arrays import FloatArray
from tsgrad.laws import Law
from tsgrad.policies.base import Clock, Memoryless, SamplesWorlds
from tsgrad.problems import AnyProblem, Context, Problem
from tsgrad.registry import register


@register("thompson")
class Thompson(Memoryless, SamplesWorlds):
    """Thompson sampling (1933). It has nothing to tune, and is what tuned policies start from and must beat.

    >>> Thompson().meta_parameters()
    {}
    """

    uses_clock: ClassVar[bool] = False

    def prepare(self, problem: AnyProblem, horizon: int) -> "Thompson":
        return self

    def law(self, model: Problem, belief: Any, memory: None, context: Context, clock: Clock) -> Law:
        return model.posterior(belief)

    def trainable(self) -> bool:
        return False

    def meta_parameters(self) -> dict[str, FloatArray]:
        return {}
