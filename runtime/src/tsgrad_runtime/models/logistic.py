"""Binary rewards that depend on features: the belief is the history."""

from typing import Any

import numpy as np

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.models.base import Belief
from tsgrad_runtime.models.linear import NormalPrior, arms_of, check_features
from tsgrad_runtime.special import normal_cdf, sigmoid

_MOST_STEPS = 30
_MOST_KNOWN = 1e9  # times what the prior knows; beyond, a sum of products would lose the prior to rounding
_WIDE = 2.0
_NORMAL_NODES: FloatArray = 0.42 * np.arange(-16.0, 17.0)
_LOGISTIC_NODES: FloatArray = 1.15 * np.arange(-16.0, 17.0)


class Logistic(NormalPrior):
    """Rewards 0 or 1 that depend on features; the belief is the history and the mode of the posterior it implies.

    A belief is (features [n, d], offsets [n], outcomes [n], mode [d]), features and mode whitened.
    """

    rewards = "binary"
    expects = "log-odds"
    most_expected = 1e6

    def __init__(self, *, features: Any, prior_mean: Any, prior_covariance: Any) -> None:
        super().__init__(prior_mean, prior_covariance)
        self.features, self.contexts = check_features(features, None, self.prior_mean.shape[0])
        if self.features is not None:
            self.check_scale("features", self.features)
        self._arms = arms_of(features)

    @property
    def arms(self) -> int:
        return self._arms

    def prior(self) -> Belief:
        dimension = self.prior_mean.shape[0]
        return np.zeros((0, dimension)), np.zeros(0), np.zeros(0), np.zeros(dimension)

    def update(self, belief: Belief, features: FloatArray | None, arm: Any, reward: float) -> Belief:
        assert features is not None
        feature = features[arm]
        history = (
            np.concatenate([belief[0], [self.prior_root.T @ feature]]),
            np.append(belief[1], feature @ self.prior_mean),
            np.append(belief[2], reward),
        )
        return *history, _mode(*history, belief[3])

    def whitened(self, belief: Belief) -> tuple[FloatArray, FloatArray]:
        return belief[3], _root(belief[0], belief[1], belief[3])

    def values(self, orders: FloatArray) -> FloatArray:
        return sigmoid(orders)

    def compared(self, orders: FloatArray) -> FloatArray:
        return sigmoid(orders)

    def moments(self, belief: Belief, features: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        assert features is not None
        law = self.posterior(belief, features)
        return _chance_moments(features @ law.mean, np.linalg.norm(features @ law.root, axis=1))

    def strength(self, belief: Belief, features: FloatArray | None) -> FloatArray:
        chance, std = self.moments(belief, features)
        with np.errstate(divide="ignore"):  # of an arm without features, all is known
            return np.asarray(chance * (1 - chance) / std**2)


def _mode(features: FloatArray, offsets: FloatArray, outcomes: FloatArray, start: FloatArray) -> FloatArray:
    """By Newton's method, steps damped so that the loss always goes down, as the simulator has it."""
    longest = np.sqrt(np.max(np.sum(features**2, axis=1)))
    signs = 2 * outcomes - 1
    at, decrement = start, float(np.inf)
    for _ in range(_MOST_STEPS):
        if decrement <= 1e-22:
            break
        missed = signs * sigmoid(-signs * (offsets + features @ at))
        slope = at - features.T @ missed
        root = _root(features, offsets, at)
        towards = root @ (root.T @ slope)
        reach = longest * np.linalg.norm(towards)
        at = at - (np.log1p(reach) / reach if reach > 0 else 1.0) * towards
        decrement = float(slope @ towards)
    return at


def _root(features: FloatArray, offsets: FloatArray, at: FloatArray) -> FloatArray:
    """The upper triangular root of the covariance (I + F'WF)^-1 that the curvature at a point stands for, [d, d]."""
    chance = sigmoid(offsets + features @ at)
    weighted = features * np.sqrt(chance * (1 - chance))[:, None]
    identity, products = np.eye(at.shape[0]), weighted.T @ weighted
    if np.trace(products) < _MOST_KNOWN:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(identity + products)).T)
    triangle = np.linalg.qr(np.concatenate([weighted, identity]), mode="r")
    return np.asarray(np.linalg.inv(triangle * np.where(np.diag(triangle) < 0, -1.0, 1.0)[:, None]))


def _chance_moments(log_odds: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of 1 / (1 + exp(-x)), x normal, by the simulator's own trapezoidal rules."""
    centre, narrow, wide = log_odds[:, None], np.minimum(spread, _WIDE), np.maximum(spread, _WIDE)
    weights = np.exp(-(_NORMAL_NODES**2) / 2)
    weights /= np.sum(weights)
    chances = sigmoid(centre + narrow[:, None] * _NORMAL_NODES)
    first = chances @ weights
    second = (chances - first[:, None]) ** 2 @ weights
    density: FloatArray = sigmoid(_LOGISTIC_NODES) * sigmoid(-_LOGISTIC_NODES)
    density /= np.sum(density)
    larger = density * sigmoid(_LOGISTIC_NODES)
    larger /= np.sum(larger)
    below = normal_cdf((centre - _LOGISTIC_NODES) / wide[:, None])
    beyond = below @ density
    is_wide = spread > _WIDE
    variance = np.where(is_wide, below @ larger - beyond**2, second)
    return np.where(is_wide, beyond, first), np.sqrt(np.maximum(variance, 0))
