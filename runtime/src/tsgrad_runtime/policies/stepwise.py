"""Laws that depend on a belief and on time, drawn from at several steps at once."""

import abc
from typing import Any

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.laws import Law
from tsgrad_runtime.models import Model
from tsgrad_runtime.policies.base import Sampling, Scene, each_largest
from tsgrad_runtime.policies.kept import PerDecision, PerStep
from tsgrad_runtime.streams import Noise


class Stepwise(Sampling):
    """A law that is made of a belief and of numbers that depend on how many decisions are left, and on nothing else."""

    @abc.abstractmethod
    def of_time(self, left: FloatArray) -> FloatArray:
        """The numbers of several steps, [step, ...]; they are computed for many steps ahead."""

    @abc.abstractmethod
    def made(self, scene: Scene, of_time: FloatArray) -> Law:
        """The law of a scene's belief and the numbers of a step, or of several steps: one law for each of them."""

    def prepare(self, model: Model, horizon: int) -> None:
        self._arms, self._of_time = PerDecision(self._of_draws), PerStep(self.of_time)

    def law(self, scene: Scene) -> Law:
        return self.made(scene, self._of_time(scene.left))

    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        return self._arms(scene, noise, number, scene.left + number)  # the same while every decision is a step

    def _of_draws(self, scene: Scene, noise: Noise, number: int, count: int) -> list[int]:
        of_time = self._of_time.several(scene.left, count)
        orders = self.made(scene, of_time).orders(noise, number, len(of_time))
        return each_largest(self.compared(scene.model, orders), scene.available)
