"""What is computed less often than decisions are made: for every belief once, and for many steps ahead at once."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.laws import Law
from tsgrad_runtime.policies.base import Scene
from tsgrad_runtime.streams import AHEAD, Noise

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


def _same(one: Scene, other: Scene) -> bool:
    """Whether scenes differ in nothing but their time."""
    return (
        one.belief is other.belief
        and one.memory is other.memory
        and one.features is other.features
        and _same_arms(one.available, other.available)
    )


def _same_arms(one: Any, other: Any) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


class PerScene(Generic[Value]):
    """A function of belief, memory, features and available arms, and of nothing else of a scene but its `stage`."""

    def __init__(self, function: Callable[[Scene], Value]) -> None:
        self._function = function
        self._of: Any = None
        self._stage: Any = None
        self._value: Any = None

    def __call__(self, scene: Scene, stage: Any = None) -> Value:
        if self._of is None or not _same(self._of, scene) or stage != self._stage:
            self._value = self._function(scene)
            self._of, self._stage = scene, stage
        value: Value = self._value
        return value


class PerDecision(Generic[Value]):
    """A function of a scene but for its time, or for its `stage`, and of the noise of decisions: from the first of them
    and their number to a value each. Of one, where the scene is new; of twice as many as the last time, where it is
    asked for again.
    """

    def __init__(self, function: Callable[[Scene, Noise, int, int], Sequence[Value]]) -> None:
        self._function = function
        self._of: Any = None
        self._noise: Noise | None = None
        self._stage: Any = None
        self._first = 0
        self._values: Sequence[Value] = ()

    def __call__(self, scene: Scene, noise: Noise, number: int, stage: Any = None) -> Value:
        known = self._of is not None and _same(self._of, scene) and self._noise is noise and stage == self._stage
        place = number - self._first
        if not (known and 0 <= place < len(self._values)):
            count = min(2 * len(self._values), _SOME) if known else 1
            self._values = self._function(scene, noise, number, count)
            self._of, self._noise, self._stage, self._first, place = scene, noise, stage, number, 0
        return self._values[place]


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
        return self.several(left, 1)[0]

    def several(self, left: int, count: int) -> Any:
        """Of a decision and of those that follow it."""
        row = self._first - left
        if not 0 <= row <= len(self._rows) - count:
            self._first, row = left, 0
            self._rows = self._function(np.arange(left, max(left - AHEAD, 0), -1.0))
        return self._rows[row : row + count]
