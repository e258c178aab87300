"""Information relaxation sampling that plans: the first move of the best plan in a sampled future.

As the simulator has it (`tsgrad.RelaxationSampling`, where the formulas are derived). A decision takes milliseconds and
its shares a second: these are rivals, to be played beside a tuned policy, not in its place.
"""

import abc
from typing import Any

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray, check_choice
from tsgrad_runtime.models import Gaussian, Model
from tsgrad_runtime.policies.base import Policy, Scene, each_largest, largest
from tsgrad_runtime.shares import counted_shares
from tsgrad_runtime.special import normal_cdf
from tsgrad_runtime.streams import Noise

DRAWS = 128  # of shares: their standard errors are sqrt(p (1 - p) / 128)
_HALVINGS = 26
_MOST_PULLS = 10**5  # of a future, over all arms: a decision would take seconds, its shares gigabytes
_REACH = 6.0  # standard deviations, by which the bracket exceeds all sampled means


class RelaxationSampling(Policy):
    """Plays by futures of all arms, which are sampled for every decision; `penalty` is the price of knowing them."""

    exact_shares = False
    plans = True

    def __init__(self, *, penalty: Any) -> None:
        self._plan = _PLANS[check_choice("penalty", penalty, _PLANS)]

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, Gaussian):
            raise BadInput("policy 'relaxation-sampling' needs a gaussian problem")
        if model.arms * horizon > _MOST_PULLS:
            raise BadInput(
                f"horizon must be at most {_MOST_PULLS // model.arms} for policy 'relaxation-sampling', which plans all"
                f" of it at every decision, got {horizon}"
            )

    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        arms, horizon = scene.model.arms or 0, scene.horizon
        normals = noise.normal(number, arms * horizon).reshape(arms, horizon)
        return largest(self._worth(scene, normals), scene.available)

    def shares(self, scene: Scene, generator: np.random.Generator) -> FloatArray:
        """By 128 sampled futures."""
        worth = self._worth(scene, generator.standard_normal((DRAWS, scene.model.arms or 0, scene.horizon)))
        chosen = each_largest(worth, scene.available)
        return counted_shares(chosen, scene.available, worth.shape[1])

    def _worth(self, scene: Scene, normals: FloatArray) -> FloatArray:
        """What arms are compared by, [..., K], in the futures of normals [..., K, T]."""
        model: Any = scene.model
        now = model.moments(scene.belief, scene.features)[0]
        j = np.arange(scene.left)  # further pulls, as many as there can be before the last decision
        prior_std, noise_std = model.prior_std[:, None], model.noise_std[:, None]
        variance = prior_std**2 / (1 + (prior_std / noise_std) ** 2 * (scene.belief[0][0][:, None] + j))
        # s_j^2 - s_{j+1}^2 = s_j^2 s_{j+1}^2 / noise^2, multiplied out
        steps = np.sqrt(variance[:, :-1] * variance[:, 1:]) / noise_std * normals[..., : scene.left - 1]
        moves = np.concatenate([np.zeros((*steps.shape[:-1], 1)), np.cumsum(steps, axis=-1)], axis=-1)
        means = now[:, None] + moves
        if scene.available is not None:
            means = np.where(scene.available[:, None], means, self._plan.missing)
        return self._plan.worth(means, np.sqrt(variance))


class _Plan(abc.ABC):
    """How futures are judged; `missing` is the mean of an arm that is not there."""

    missing: float

    @abc.abstractmethod
    def worth(self, means: FloatArray, stds: FloatArray) -> FloatArray:
        """What arms are compared by, [..., K], from posterior means [..., K, d] after 0 .. d - 1 further pulls."""


class _Counts(_Plan):
    """V-Zero: how often an arm is pulled in the best plan, by a maximum-plus convolution over arms."""

    missing = -np.inf

    def worth(self, means: FloatArray, stds: FloatArray) -> FloatArray:
        """The numbers of pulls.

        >>> print(_Counts().worth(np.array([[1.0, 5.0, 0.0], [2.0, 2.0, 2.0]]), np.ones((2, 3))))
        [2. 1.]
        """
        *batch, arms, left = means.shape
        totals = np.concatenate([np.zeros((*batch, arms, 1)), np.cumsum(means, axis=-1)], axis=-1)  # of n pulls
        count, n = np.arange(left + 1), np.arange(left + 1)[:, None]
        best = np.broadcast_to(np.where(count == 0, 0.0, -np.inf), (*batch, left + 1))  # of so many pulls so far
        choices = []
        for arm in range(arms):
            values = np.where(count >= n, best[..., (count - n) % (left + 1)] + totals[..., arm, :, None], -np.inf)
            choices.append(np.argmax(values, axis=-2))
            best = np.max(values, axis=-2)
        played, rest = np.zeros((*batch, arms)), np.full(batch, left)
        for arm in reversed(range(arms)):
            pulls = np.take_along_axis(choices[arm], rest[..., None], axis=-1)[..., 0]
            played[..., arm], rest = pulls, rest - pulls
        return played


class _Price(_Plan):
    """INDEX: the largest price at which an arm is tried, in its future, against one that surely pays it."""

    missing = 0.0  # no arm has a part in what another is worth

    def worth(self, means: FloatArray, stds: FloatArray) -> FloatArray:
        """With one decision left, an arm is worth its mean.

        >>> print(_Price().worth(np.array([[0.5]]), np.array([[1.0]])).round(4))
        [0.5]
        """
        low = np.min(means, axis=-1) - _REACH * stds[:, 0]
        high = np.max(means, axis=-1) + _REACH * stds[:, 0]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            tried = _is_tried(means, stds, middle[..., None])
            low, high = np.where(tried, middle, low), np.where(tried, high, middle)
        return np.asarray((low + high) / 2)


def _is_tried(means: FloatArray, stds: FloatArray, price: FloatArray) -> Any:
    """Whether the best plan starts with a pull, [..., K]."""
    left = means.shape[-1]
    j = np.arange(left)
    z = (price - means) / stds
    best = means + (price - means) * normal_cdf(z) + stds * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)  # E_j
    least = np.minimum.accumulate(best, axis=-1)
    before = np.cumsum(means - best, axis=-1) + left * best[..., :1]
    later = np.concatenate([least[..., 1:], least[..., -1:]], axis=-1)
    value = before + np.where(j + 1 < left, (left - j - 1) * (price - later), 0.0)
    n = np.argmax(value, axis=-1) + 1
    idles_later = np.argmin(np.where(j <= n[..., None], best, np.inf), axis=-1) > 0
    most = np.max(value, axis=-1)
    return (most >= left * price[..., 0]) & ((n == left) | idles_later)


_PLANS: dict[str, _Plan] = {"V-Zero": _Counts(), "INDEX": _Price()}
