"""Gamma variables, drawn as the simulator draws them: what decisions with beta and gamma arms spend their time on.

Marsaglia and Tsang (2000): with s^2 = d = shape - 1/3, a normal z is taken to d (1 + w)^3, w = z / (3 s), and kept if a
uniform u has log u < z^2 / 2 + d (1 - v + log v), v = (1 + w)^3. Whatever the shape, that is so where
u < 1 - 0.0331 z^4, and where it is so of the smallest shape: the bound is d f(w) with f'(w) = -3 w^3 / (1 + w), which
grows with d at any z. Found ahead for many steps at once, that leaves one of twenty draws to be looked at. The draw is
r^3 / s with r = s + z / 3, which takes the fewest operations.
"""

import functools
import math
from typing import Any

import numpy as np

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.streams import Kind, Noise, scattered

_MOST_ATTEMPTS = 24  # as in the simulator: each fails with probability below 0.05
_SQUEEZE = 0.0331
_LEAST_S = math.sqrt(2 / 3)  # of a shape of one
_AHEAD = 3  # attempts whose numbers are drawn for many steps at once
_KINDS: tuple[Kind, ...] = ("normal", "uniform")  # the two numbers of an attempt, by their sub-address


class _FirstAttempts:
    """Thirds of normals of step `start` and of many that follow it, and the slots that are not accepted for sure.

    Those of row i are entries `bounds[i]` to `bounds[i + 1]` of `rows`, `slots`, and of (normals, logarithms of
    uniforms) of each of the first `attempts`.
    """

    def __init__(self, noise: Noise, start: int, slots: int, least: int) -> None:
        self.start = start
        normals = noise.at(0, 0).ahead("normal", start, slots, least)[:, :slots]
        uniforms = noise.at(0, 1).ahead("uniform", start, slots, least)[:, :slots]
        self.thirds = normals / 3
        squares = normals * normals
        places = np.flatnonzero(uniforms >= 1 - _SQUEEZE * (squares * squares))
        normal, log_uniform = np.take(normals, places), np.log(np.take(uniforms, places))
        unsure = ~_kept(normal, log_uniform)
        places, first = places[unsure], (normal[unsure].tolist(), log_uniform[unsure].tolist())
        rows, columns = np.divmod(places, slots)
        self.bounds: list[int] = np.searchsorted(rows, np.arange(len(normals) + 1)).tolist()
        self.rows: list[int] = rows.tolist()
        self.slots: list[int] = columns.tolist()
        later = [noise.at(attempt, part) for attempt in range(1, _AHEAD) for part in range(2)]
        numbers = scattered(later, _KINDS * (_AHEAD - 1), rows + start, columns)
        self.attempts: list[tuple[list[float], list[float]]] = [
            first,
            *(
                (normal.tolist(), np.log(uniform).tolist())
                for normal, uniform in zip(numbers[::2], numbers[1::2], strict=True)
            ),
        ]
        boosts = noise.at(_MOST_ATTEMPTS)
        self.boosts = functools.cache(lambda: np.log(boosts.ahead("uniform", start, slots, least)[:, :slots]))


def _kept(normal: FloatArray, log_uniform: FloatArray) -> Any:
    """Whether an attempt is kept whatever the shape is: where it is for a shape of one."""
    w = np.maximum(normal / (3 * _LEAST_S), -1 + 1e-12)  # where it is no larger, the bound is too low for any uniform
    return log_uniform < normal * normal / 2 + _LEAST_S**2 * (3 * np.log1p(w) - w * (3 + w * (3 + w)))


class GammaDraws:
    """Draws of Gamma(shape) variables, each r^3 / s times exp(boost). Axes: [step, slot], or [1, slot] for all steps.

    What depends on the shapes alone is computed once, for all draws that are made between two rewards.

        >>> from tsgrad_runtime.streams import Purpose, Stream
        >>> noise = Noise.of(seed=0, purpose=Purpose.EVALUATION, stream=Stream.POLICY)
        >>> draw, boost = GammaDraws(np.full((1, 1000), 4.0)).parts(noise, 1, 1)
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

    def parts(self, noise: Noise, t: int, steps: int) -> tuple[FloatArray, FloatArray | None]:
        """(r^3 / s, boost) of the draws of step t and of those that follow it, [step, slot]; no boost where no shape is
        below one.
        """
        slots = self.s.shape[1]
        first: _FirstAttempts | None = noise.prepared.get(slots)
        if first is None or not first.start <= t <= first.start + len(first.thirds) - steps:
            first = noise.prepared[slots] = _FirstAttempts(noise, t, slots, steps)
        row = t - first.start
        end = row + steps
        r = self.s + first.thirds[row:end]  # where that is not positive, the attempt is among those that are looked at
        for entry in range(first.bounds[row], first.bounds[end]):
            step, slot = first.rows[entry] - row, first.slots[entry]
            s = float(self.s[step if len(self.s) > 1 else 0, slot])
            r[step, slot] = self._settled(first, entry, s, noise)
        return r * r * r / self.s, None if self.powers is None else self.powers * first.boosts()[row:end]

    def _settled(self, first: _FirstAttempts, entry: int, s: float, noise: Noise) -> float:
        """What r is in a slot whose first attempt may fail: that of the first which does not."""
        for attempt in range(_MOST_ATTEMPTS):
            if attempt < _AHEAD:
                normals, log_uniforms = first.attempts[attempt]
                normal, log_uniform = normals[entry], log_uniforms[entry]
            else:
                normal, log_uniform = self._later(attempt, first.slots[entry], noise, first.start + first.rows[entry])
            w = normal / (3 * s)
            if w > -1 and log_uniform < normal * normal / 2 + s * s * (3 * math.log1p(w) - w * (3 + w * (3 + w))):
                return s + normal / 3
        return s

    def _later(self, attempt: int, slot: int, noise: Noise, t: int) -> tuple[float, float]:
        slots = self.s.shape[1]
        normal = noise.at(attempt, 0).normal(t, slots)[slot]
        return float(normal), math.log(noise.at(attempt, 1).uniform(t, slots)[slot])
