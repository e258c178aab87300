"""What is computed less often than decisions are made: for every belief once, and for many steps ahead at once."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.laws import Law
from tsgrad_runtime.policies.base import Scene
from tsgrad_runtime.streams import AHEAD

Value = TypeVar("Value")
_SOME = 32


class PerBelief(Generic[Value]):
    """A function of a scene's belief and features, computed once for all decisions between two rewards."""

    def __init__(self, function: Callable[[Scene], Value]) -> None:
        self._function = function
        self._of: Any = (None, None)
        self._value: Any = None

    def __call__(self, scene: Scene) -> Value:
        belief, features = self._of
        if belief is not scene.belief or features is not scene.features:
            self._value = self._function(scene)
            self._of = scene.belief, scene.features
        value: Value = self._value
        return value


def kept_posterior() -> PerBelief[Law]:
    """The posterior of the arms in a scene."""
    return PerBelief(lambda scene: scene.model.posterior(scene.belief, scene.features))


def kept_moments() -> PerBelief[tuple[FloatArray, FloatArray]]:
    """Means and standard deviations of the arms in a scene, [K] each."""
    return PerBelief(lambda scene: scene.model.moments(scene.belief, scene.features))


class PerScene(Generic[Value]):
    """A function of belief, memory, features and available arms, and of nothing else of a scene but its `stage`."""

    def __init__(self, function: Callable[[Scene], Value]) -> None:
        self._function = function
        self._of: Any = None
        self._stage: Any = None
        self._value: Any = None

    def __call__(self, scene: Scene, stage: Any = None) -> Value:
        of = self._of
        if (
            of is None
            or of.belief is not scene.belief
            or of.memory is not scene.memory
            or of.features is not scene.features
            or of.available is not scene.available
            or stage != self._stage
        ):
            self._value = self._function(scene)
            self._of, self._stage = scene, stage
        value: Value = self._value
        return value


class PerBeliefAndStep(Generic[Value]):
    """A function of a belief and of how many decisions are left: from [n] to n values. Of one, where a belief is new: a
    reward may come before the next; of some to come, where it is asked for again.
    """

    def __init__(self, function: Callable[[Scene, FloatArray], Sequence[Value]]) -> None:
        self._function = function
        self._of: Any = (None, None)
        self._first = 0
        self._values: Sequence[Value] = ()

    def __call__(self, scene: Scene) -> Value:
        left = scene.left
        belief, features = self._of
        known = belief is scene.belief and features is scene.features
        row = self._first - left
        if not (known and 0 <= row < len(self._values)):
            self._of = scene.belief, scene.features
            self._first, row = left, 0
            steps = np.arange(left, max(left - (_SOME if known else 1), 0), -1.0)
            self._values = self._function(scene, steps)
        return self._values[row]


class PerStep:
    """A function of how many decisions are left, computed for many of them at once: from [n] to [n, ...].

    >>> doubled = PerStep(lambda left: 2 * left)
    >>> [float(doubled(left)) for left in (10, 9, 8, 1000)]
    [20.0, 18.0, 16.0, 2000.0]
    """

    def __init__(self, function: Callable[[FloatArray], FloatArray]) -> None:
        self._function = function
        self._first, self._rows = 0, np.zeros(0)

    def __call__(self, left: int) -> Any:
        row = self._first - left
        if not 0 <= row < len(self._rows):
            self._first, row = left, 0
            self._rows = self._function(np.arange(left, max(left - AHEAD, 0), -1.0))
        return self._rows[row]
