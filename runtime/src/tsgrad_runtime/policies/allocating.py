"""Policies that say which share of the users every arm is to have: each user gets it with that chance."""

import abc
from typing import Any

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray, check_array, check_number
from tsgrad_runtime.laws import CategoricalLaw, Law
from tsgrad_runtime.models import IndependentArms, Model
from tsgrad_runtime.policies.base import Sampling, Scene, Timeless, largest
from tsgrad_runtime.policies.kept import PerScene
from tsgrad_runtime.streams import Noise, Purpose, Stream, scattered

_DRAWS = 64  # pairs z, -z of normal vectors over which the best mean is averaged, as in the simulator
_STEPS = 60
_RATE = 0.5
_LEAST_USERS = 1e-12


class Allocating(Timeless, Sampling):
    """A policy that gives shares of arms; of one that depends on time, `stage` says how."""

    def __init__(self) -> None:
        self._law = PerScene(self._made)

    @abc.abstractmethod
    def allocated(self, scene: Scene) -> FloatArray:
        """The share of every arm, [K]; none for arms that are not available."""

    def law(self, scene: Scene) -> Law:
        return self._law(scene, self.stage(scene))

    def _made(self, scene: Scene) -> CategoricalLaw:
        with np.errstate(divide="ignore"):
            return CategoricalLaw(np.log(self.allocated(scene)))

    def compared(self, model: Model, orders: FloatArray) -> FloatArray:
        return orders


def _there(scene: Scene) -> Any:
    return np.ones(scene.model.arms or 0, bool) if scene.available is None else scene.available


def _equal(there: Any) -> FloatArray:
    return np.asarray(there / np.sum(there))


class ABTest(Allocating):
    """Equal shares to the end."""

    def allocated(self, scene: Scene) -> FloatArray:
        return _equal(_there(scene))


class ExploreThenCommit(Allocating):
    """Equal shares for the first `users`, then the arm with the largest posterior mean."""

    def __init__(self, *, users: Any = None) -> None:
        super().__init__()
        self.users = check_number("users", _known("users", users))

    def stage(self, scene: Scene) -> Any:
        return scene.t <= self.users

    def allocated(self, scene: Scene) -> FloatArray:
        if scene.t <= self.users:
            return _equal(_there(scene))
        mean, _ = scene.model.moments(scene.belief, scene.features)
        return np.asarray(np.arange(len(mean)) == largest(mean, scene.available), np.float64)


class SuccessiveElimination(Allocating):
    """Equal shares for arms whose interval, m plus and minus `width` deviations, reaches the best lower end."""

    def __init__(self, *, width: Any = None) -> None:
        super().__init__()
        self.width = check_number("width", _known("width", width))

    def allocated(self, scene: Scene) -> FloatArray:
        mean, std = scene.model.moments(scene.belief, scene.features)
        there = _there(scene)
        best = np.max(mean - self.width * std, where=there, initial=-np.inf)
        return _equal(there & (mean + self.width * std >= best))


class _Planned(Allocating):
    """Shares that are planned at every step, as if nothing were learned before its users are through."""

    plans = True

    def stage(self, scene: Scene) -> Any:
        return scene.t

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, IndependentArms):
            raise BadInput("policy needs a problem with independent arms")
        noise = Noise.of(seed=0, purpose=Purpose.EVALUATION, stream=Stream.POSTERIOR)
        slots = np.arange(_DRAWS * model.arms)
        drawn = scattered([noise], ["normal"], np.zeros_like(slots), slots)[0].reshape(_DRAWS, model.arms)
        self._drawn = np.concatenate([drawn, -drawn])

    def best_shares(self, scene: Scene, *, users: float, later: float) -> FloatArray:
        """The shares p of `users` that maximise users p'm + later E max_k of the posterior means after them.

        Arm k's mean will have moved by s_k sqrt(n_k / (n_k + strength_k)) Z, n_k = users p_k. By the simulator's mirror
        ascent from equal shares.
        """
        mean, std = scene.model.moments(scene.belief, scene.features)
        strength, there = scene.model.strength(scene.belief, scene.features), _there(scene)
        unit = np.max(std[there]) * (users + later)
        logits = np.where(there, 0.0, -np.inf)
        for _ in range(_STEPS):
            shares = _softmax(logits)
            number = users * shares
            played = np.maximum(number, _LEAST_USERS)
            step = std * np.sqrt(played / (number + strength))
            # d step / d share; users that are too few to count stay as many as they are.
            slope = users * step / 2 * ((number > _LEAST_USERS) / played - 1 / (number + strength))
            values = np.where(there, mean + step * self._drawn, -np.inf)
            best = np.argmax(values, axis=1)
            moved = np.bincount(best, self._drawn[np.arange(len(best)), best], minlength=len(mean)) / len(best)
            worth = (users * np.where(there, mean, 0.0) + later * moved * slope) / unit
            centred = worth - np.sum(shares * worth)
            logits = logits + _RATE * np.where(there, np.clip(10 * centred, -2, 2), 0)
        return _softmax(logits)


class BatchKnowledgeGradient(_Planned):
    """The best shares of this batch, for what it earns and for what all later users gain by what it teaches."""

    def __init__(self, *, sizes: Any = None, after: Any = 0.0) -> None:
        super().__init__()
        known = _known("sizes", sizes, above=0)
        if known.ndim > 1 or not known.size:
            raise BadInput(f"sizes must be one number, or one for each batch, got shape {known.shape}")
        self.ends = np.cumsum(known)
        self.after = check_number("after", after)

    def allocated(self, scene: Scene) -> FloatArray:
        step = min(int(np.sum(self.ends < scene.t)), len(self.ends) - 1)
        users = float(self.ends[step] - scene.t + 1)
        return self.best_shares(scene, users=users, later=scene.left - users + self.after)


class ResidualHorizon(_Planned):
    """The constant shares that would be best from here to the end."""

    def __init__(self, *, after: Any = None) -> None:
        super().__init__()
        self.after = check_number("after", _known("after", after))

    def allocated(self, scene: Scene) -> FloatArray:
        return self.best_shares(scene, users=float(scene.left), later=self.after)


def _known(name: str, value: Any, *, above: float | None = None) -> FloatArray:
    """What a policy that plans must have been told before it is written."""
    if value is None:
        raise BadInput(f"{name} must be given: write the policy with it, or as it was planned for its experiment")
    return check_array(name, value, above=above)


def _softmax(logits: FloatArray) -> FloatArray:
    weight = np.exp(logits - np.max(logits))
    return np.asarray(weight / np.sum(weight))
