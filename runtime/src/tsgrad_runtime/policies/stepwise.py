"""Laws that depend on a belief and on time, drawn from at several steps at once."""

import abc
from typing import Any

import numpy as np

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.laws import Law
from tsgrad_runtime.models import Model
from tsgrad_runtime.policies.base import Sampling, Scene, each_largest
from tsgrad_runtime.policies.kept import PerDecision
from tsgrad_runtime.streams import Noise


class Stepwise(Sampling):
    """A law that depends on a belief and on how many decisions are left."""

    @abc.abstractmethod
    def laws(self, scene: Scene, left: FloatArray) -> Law:
        """The law where so many are left: one, [], or one for each of several steps, [step]."""

    def prepare(self, model: Model, horizon: int) -> None:
        self._arms = PerDecision(self._of_draws)

    def law(self, scene: Scene) -> Law:
        return self.laws(scene, np.array(float(scene.left)))

    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        return self._arms(scene, noise, number, scene.left + number)  # the same while every decision is a step

    def _of_draws(self, scene: Scene, noise: Noise, number: int, count: int) -> list[int]:
        left = np.arange(scene.left, max(scene.left - count, 0), -1.0)
        orders = self.compared(scene.model, self.laws(scene, left).orders(noise, number, len(left)))
        return each_largest(orders, scene.available)
