"""The bonus law."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray, check_array, check_number
from tsgrad_runtime.laws import Law, NormalLaw
from tsgrad_runtime.models import Model
from tsgrad_runtime.policies.base import Sampling, Scene
from tsgrad_runtime.policies.kept import PerBelief
from tsgrad_runtime.policies.stepwise import Stepwise
from tsgrad_runtime.streams import Noise

# Numbers that arrays of a few arms meet are arrays themselves: NumPy takes as long to make one as to compute with it.
_NONE, _ONE = np.array(0.0), np.array(1.0)
_LEAST_ROOM = np.array(1e-6)
_LEAST_STD = 1e-6  # as a part of the largest: as in training
_LEAST_LOG_SPREAD, _MOST_LOG_SPREAD = np.array(-3.0), np.array(3.0)


class _Known(NamedTuple):
    """What depends on the belief alone: moments of arms and the room above them [K], powers of strength [power, K]."""

    mean: FloatArray
    std: FloatArray
    room: FloatArray | None
    powers: FloatArray


class Bonus(Stepwise):
    """N(m + s u, (s exp v)^2), u and v polynomials in the logarithms of steps left and of what is known of an arm."""

    def __init__(
        self,
        *,
        bonus: Any,
        log_spread: Any,
        most_left: Any = None,
        least_known: Any = None,
        most_known: Any = None,
        ceiling: Any = None,
    ) -> None:
        both = np.stack([check_array("bonus", bonus), check_array("log_spread", log_spread)])
        degree = round((float(np.sqrt(8 * both.shape[-1] + 1)) - 3) / 2)
        if both.ndim != 2 or (degree + 1) * (degree + 2) // 2 != both.shape[1]:
            raise BadInput(f"bonus must have 1, 3, 6, 10 or more coefficients, got shape {both.shape[1:]}")
        self.degree = degree
        terms = [(i, j) for j in range(degree + 1) for i in range(degree + 1 - j)]
        chebyshev = np.zeros((degree + 1, 2, degree + 1))  # [i of steps left, bonus or spread, j of what is known]
        for number, (i, j) in enumerate(terms):
            chebyshev[i, :, j] = both[:, number]
        # Of what is known in powers, which are computed in one call for all arms.
        powers = [np.polynomial.chebyshev.cheb2poly(row) for row in np.eye(degree + 1)]
        self.coefficients = chebyshev @ np.stack([np.pad(row, (0, degree + 1 - len(row))) for row in powers])
        ends = {"most_left": most_left, "least_known": least_known, "most_known": most_known}
        self.ceiling = None if ceiling is None else np.array(check_number("ceiling", ceiling))
        self.ends = {name: None if end is None else check_number(name, end, above=0) for name, end in ends.items()}

    def prepare(self, model: Model, horizon: int) -> None:
        super().prepare(model, horizon)
        if None in self.ends.values() and model.contexts:
            raise BadInput("policy 'bonus' lacks its scales: write it with Run.save, or tsgrad.write_policy")
        if model.arms is None:
            raise BadInput("policy 'bonus' needs a problem with finitely many arms, got a ball")
        least, most = self.ends["least_known"], self.ends["most_known"]
        if least is None or most is None:  # in files of earlier versions
            known = model.strength(model.prior(), model.features_for(1))
            known = known[np.isfinite(known)]
            least, most = least or float(np.min(known)), most or float(np.max(known)) + horizon
        self._time = _scale(0.0, float(np.log(self.ends["most_left"] or horizon)))
        self._strength = _scale(float(np.log(least)), float(np.log(most)))
        self._known = PerBelief(self._of_known)

    def law(self, scene: Scene) -> Law:
        if scene.arms_left is None:
            return super().law(scene)
        of_time = self.of_time(scene.arms_left)
        return self._moved(scene, np.einsum("kbp,pk->bk", of_time, self._known(scene).powers))

    def made(self, scene: Scene, of_time: FloatArray) -> Law:
        return self._moved(scene, of_time.dot(self._known(scene).powers))

    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        if scene.arms_left is not None:  # which are each arm's own
            return Sampling.arm(self, scene, noise, number)
        return super().arm(scene, noise, number)

    def _moved(self, scene: Scene, polynomials: FloatArray) -> NormalLaw:
        """The law of a bonus and the logarithm of a spread, [..., 2, K]."""
        known = self._known(scene)
        spread = np.exp(np.minimum(np.maximum(polynomials[..., 1, :], _LEAST_LOG_SPREAD), _MOST_LOG_SPREAD))
        bonus = known.std * polynomials[..., 0, :]
        if known.room is not None:
            bonus /= _ONE + np.maximum(bonus, _NONE) / known.room
        return NormalLaw(known.mean + bonus, known.std * spread)

    def of_time(self, left: FloatArray) -> FloatArray:
        """Coefficients of the polynomials of what is known, [step, bonus or spread, power]."""
        terms = np.polynomial.chebyshev.chebvander(self._time(np.log(left)), self.degree)
        return np.tensordot(terms, self.coefficients, axes=1)

    def _of_known(self, scene: Scene) -> "_Known":
        known = self._strength(np.log(scene.model.strength(scene.belief, scene.features)))
        mean, std = scene.model.moments(scene.belief, scene.features)
        std = np.maximum(std, _LEAST_STD * std.max())
        room = None if self.ceiling is None else np.maximum(self.ceiling - mean, _LEAST_ROOM)
        powers = np.empty((self.degree + 1, len(known)))
        powers[0], powers[1:] = 1.0, known
        return _Known(mean, std, room, np.multiply.accumulate(powers, axis=0, out=powers))

    def compared(self, model: Model, orders: FloatArray) -> FloatArray:
        return orders


def _scale(low: float, high: float) -> Callable[[FloatArray], FloatArray]:
    """From [low, high] to [-1, 1], and no further; where both ends are one, to the middle."""
    width = high - low + (high - low < 1e-6) * 1e-6
    slope, offset, least, most = map(np.array, (2 / width, (low + high) / width, -1.0, 1.0))
    return lambda value: np.minimum(np.maximum(value * slope - offset, least), most)
