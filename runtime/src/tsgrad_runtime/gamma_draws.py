"""Gamma variables, drawn as the simulator draws them: what decisions with beta and gamma arms spend their time on.

Marsaglia and Tsang (2000): with d = shape - 1/3 and c = 1 / sqrt(9 d), a normal z is taken to d (1 + c z)^3, and kept
if a uniform u has log u < z^2 / 2 + d (1 - v + log v), v = (1 + c z)^3. Whatever the shape, that is so where
u < 1 - 0.0331 z^4: found ahead for many steps at once, it leaves one or two of twenty draws to be looked at.
"""

import math
from typing import Any

import numpy as np

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.streams import Noise

_MOST_ATTEMPTS = 24  # as in the simulator: each fails with probability below 0.05
_SQUEEZE = 0.0331
_AHEAD = 3  # attempts whose numbers are drawn for many steps at once


class _FirstAttempts:
    """Normals of step `start` and of many that follow it, and which slots of each are not accepted for sure: for each
    of these, (slot, (normal, log of the uniform) of each of the first attempts).
    """

    def __init__(self, noise: Noise, start: int, slots: int) -> None:
        self.start = start
        pairs = [
            (
                noise.at(attempt, 0).ahead("normal", start, slots)[:, :slots],
                noise.at(attempt, 1).ahead("uniform", start, slots)[:, :slots],
            )
            for attempt in range(_AHEAD)
        ]
        self.normals = pairs[0][0]
        steps, unsure = np.nonzero(pairs[0][1] >= 1 - _SQUEEZE * self.normals**4)
        attempts = [
            zip(normals[steps, unsure].tolist(), np.log(uniforms[steps, unsure]).tolist(), strict=True)
            for normals, uniforms in pairs
        ]
        self.unsure: list[list[tuple[int, Any]]] = [[] for _ in self.normals]
        for step, slot, *known in zip(steps.tolist(), unsure.tolist(), *attempts, strict=True):
            self.unsure[step].append((slot, known))


class GammaDraws:
    """Draws of Gamma(shape) variables, each d exp(rest). Axes: [slot].

    What depends on the shapes alone is computed once, for all draws that are made between two rewards.

        >>> from tsgrad_runtime.streams import Purpose, Stream
        >>> noise = Noise.of(seed=0, purpose=Purpose.EVALUATION, stream=Stream.POLICY)
        >>> draws = GammaDraws(np.full(1000, 4.0))
        >>> bool(abs(np.mean(draws.d * np.exp(draws.rest(noise, 1))) - 4) < 0.2)  # three standard errors
        True
    """

    def __init__(self, shape: FloatArray) -> None:
        self.shape = shape
        self.small: Any = None  # where a shape is below one: then it is one larger, and a power of a uniform makes up
        if shape.min() < 1:
            self.small = shape < 1
            self.d = np.where(self.small, shape + 1, shape) - 1 / 3
        else:
            self.d = shape - 1 / 3
        self.c = 1 / np.sqrt(9 * self.d)

    def rest(self, noise: Noise, t: int) -> FloatArray:
        """What is random of the draw of step t."""
        slots = self.shape.shape[0]
        first: _FirstAttempts | None = noise.prepared.get(slots)
        if first is None or not first.start <= t < first.start + len(first.unsure):
            first = noise.prepared[slots] = _FirstAttempts(noise, t, slots)
        log_cube: FloatArray = 3 * np.log1p(np.maximum(self.c * first.normals[t - first.start], -0.999))
        for slot, known in first.unsure[t - first.start]:
            log_cube[slot] = self._settled(slot, known, noise, t)
        if self.small is None:
            return log_cube
        boost = np.log(noise.at(_MOST_ATTEMPTS).uniform(t, slots)) / self.shape
        return np.asarray(log_cube + np.where(self.small, boost, 0))

    def _settled(self, slot: int, known: Any, noise: Noise, t: int) -> float:
        """The logarithm of the cube of a slot whose first attempt may fail: that of the first which does not."""
        d, c = float(self.d[slot]), float(self.c[slot])
        for attempt in range(_MOST_ATTEMPTS):
            normal, log_uniform = known[attempt] if attempt < _AHEAD else self._later(attempt, slot, noise, t)
            w = c * normal
            if w > -1:
                log_cube = 3 * math.log1p(w)
                if log_uniform < normal * normal / 2 + d * (log_cube - w * (3 + w * (3 + w))):
                    return log_cube
        return 0.0

    def _later(self, attempt: int, slot: int, noise: Noise, t: int) -> tuple[float, float]:
        slots = self.shape.shape[0]
        normal = noise.at(attempt, 0).normal(t, slots)[slot]
        return float(normal), math.log(noise.at(attempt, 1).uniform(t, slots)[slot])
