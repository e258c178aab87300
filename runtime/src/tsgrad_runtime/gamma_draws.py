"""Gamma variables, drawn as the simulator draws them: what decisions with beta and gamma arms spend their time on.

Marsaglia and Tsang (2000): with s^2 = d = shape - 1/3, a normal z is taken to d (1 + w)^3, w = z / (3 s), and kept if a
uniform u has log u < z^2 / 2 + d (1 - v + log v), v = (1 + w)^3. Whatever the shape, that is so where
u < 1 - 0.0331 z^4: found ahead for many steps at once, it leaves one or two of twenty draws to be looked at. The draw
is r^3 / s with r = s + z / 3, which takes the fewest operations.
"""

import functools
import math
from typing import Any

import numpy as np

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.streams import Kind, Noise, scattered

_MOST_ATTEMPTS = 24  # as in the simulator: each fails with probability below 0.05
_SQUEEZE = 0.0331
_AHEAD = 3  # attempts whose numbers are drawn for many steps at once
_KINDS: tuple[Kind, ...] = ("normal", "uniform")  # the two numbers of an attempt, by their sub-address


class _FirstAttempts:
    """Thirds of normals of step `start` and of many that follow it, and the slots that are not accepted for sure.

    Those of row i are entries `bounds[i]` to `bounds[i + 1]` of `slots`, and of (normals, logarithms of uniforms) of
    each of the first `attempts`.
    """

    def __init__(self, noise: Noise, start: int, slots: int) -> None:
        self.start = start
        normals = noise.at(0, 0).ahead("normal", start, slots)[:, :slots]
        uniforms = noise.at(0, 1).ahead("uniform", start, slots)[:, :slots]
        self.thirds = normals / 3
        squares = normals * normals
        rows, unsure = np.nonzero(uniforms >= 1 - _SQUEEZE * (squares * squares))
        self.bounds: list[int] = np.searchsorted(rows, np.arange(len(normals) + 1)).tolist()
        self.slots: list[int] = unsure.tolist()
        later = [noise.at(attempt, part) for attempt in range(1, _AHEAD) for part in range(2)]
        numbers = [normals[rows, unsure], uniforms[rows, unsure]]
        numbers += scattered(later, _KINDS * (_AHEAD - 1), rows + start, unsure)
        self.attempts: list[tuple[list[float], list[float]]] = [
            (normal.tolist(), np.log(uniform).tolist())
            for normal, uniform in zip(numbers[::2], numbers[1::2], strict=True)
        ]
        boosts = noise.at(_MOST_ATTEMPTS)
        self.boosts = functools.cache(lambda: np.log(boosts.ahead("uniform", start, slots)[:, :slots]))


class GammaDraws:
    """Draws of Gamma(shape) variables, each r^3 / s times exp(boost). Axes: [slot]; `many` has those of several steps.

    What depends on the shapes alone is computed once, for all draws that are made between two rewards.

        >>> from tsgrad_runtime.streams import Purpose, Stream
        >>> noise = Noise.of(seed=0, purpose=Purpose.EVALUATION, stream=Stream.POLICY)
        >>> draw, boost = GammaDraws(np.full(1000, 4.0)).parts(noise, 1)
        >>> boost is None and bool(abs(np.mean(draw) - 4) < 0.2)  # three standard errors
        True
    """

    def __init__(self, shape: FloatArray) -> None:
        self.powers: Any = None  # where a shape is below one: then it is one larger, and a power of a uniform makes up
        if min(shape.ravel().tolist()) < 1:  # a fourth of the time that NumPy's own takes, for as few numbers
            small = shape < 1
            self.powers = small / shape
            shape = shape + small
        self.s = np.sqrt(shape - 1 / 3)

    @classmethod
    def many(cls, shapes: FloatArray) -> "list[GammaDraws]":
        """One for each row of shapes [n, slot]."""
        all_of_them, made = cls(shapes), []
        for row in range(len(shapes)):
            one = cls.__new__(cls)
            one.s = all_of_them.s[row]
            one.powers = None if all_of_them.powers is None else all_of_them.powers[row]
            made.append(one)
        return made

    def parts(self, noise: Noise, t: int) -> tuple[FloatArray, FloatArray | None]:
        """(r^3 / s, boost) of the draw of step t; no boost where no shape is below one."""
        slots = self.s.shape[0]
        first: _FirstAttempts | None = noise.prepared.get(slots)
        if first is None or not first.start <= t < first.start + len(first.thirds):
            first = noise.prepared[slots] = _FirstAttempts(noise, t, slots)
        row = t - first.start
        r = self.s + first.thirds[row]  # where that is not positive, the attempt is among those that are looked at
        for entry in range(first.bounds[row], first.bounds[row + 1]):
            r[first.slots[entry]] = self._settled(first, entry, noise, t)
        return r * r * r / self.s, None if self.powers is None else self.powers * first.boosts()[row]

    def _settled(self, first: _FirstAttempts, entry: int, noise: Noise, t: int) -> float:
        """What r is in a slot whose first attempt may fail: that of the first which does not."""
        slot = first.slots[entry]
        s = float(self.s[slot])
        for attempt in range(_MOST_ATTEMPTS):
            if attempt < _AHEAD:
                normals, log_uniforms = first.attempts[attempt]
                normal, log_uniform = normals[entry], log_uniforms[entry]
            else:
                normal, log_uniform = self._later(attempt, slot, noise, t)
            w = normal / (3 * s)
            if w > -1 and log_uniform < normal * normal / 2 + s * s * (3 * math.log1p(w) - w * (3 + w * (3 + w))):
                return s + normal / 3
        return s

    def _later(self, attempt: int, slot: int, noise: Noise, t: int) -> tuple[float, float]:
        slots = self.s.shape[0]
        normal = noise.at(attempt, 0).normal(t, slots)[slot]
        return float(normal), math.log(noise.at(attempt, 1).uniform(t, slots)[slot])
