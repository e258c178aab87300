"""What is computed less often than decisions are made: for every belief once, and for many steps ahead at once."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.policies.base import Scene
from tsgrad_runtime.streams import AHEAD

Value = TypeVar("Value")


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
