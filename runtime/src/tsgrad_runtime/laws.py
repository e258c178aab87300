"""Laws, in NumPy: what pseudo-actions are drawn from, and what chance each arm has of being played.

A law over arms draws one `order` an arm, by which arms are compared, exactly as the laws of `tsgrad` do for the same
noise: values of normal arms, logits of beta arms, logarithms of gamma arms.
"""

import abc
from typing import Any, Protocol

import numpy as np

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.gamma_draws import GammaDraws
from tsgrad_runtime.streams import Noise

_LARGEST_UNIFORM = 1 - 2.0**-24
NARROWEST = 1e-280  # an arm that is certain is as wide: of what is narrower, numbers would lose their digits
_FALL = 28.0  # of a log-density: what lies beyond has a share of 1e-12
_NEWTON_STEPS = 5  # double the digits once they are near; a window that is a little too wide costs nothing


class Law(Protocol):
    """What a policy draws from: `orders` for one decision, and many draws at once for shares without a formula."""

    def orders(self, noise: Noise, t: int, steps: int) -> FloatArray:
        """What arms are compared by in the draws of step t and of those that follow it, [step, K]."""

    def many(self, generator: np.random.Generator, draws: int) -> FloatArray:
        """The same of many draws, [draw, K]; from any randomness."""


class ProductLaw(abc.ABC):
    """A law under which the arms are independent, known by each arm's density in the coordinate of orders."""

    @abc.abstractmethod
    def orders(self, noise: Noise, t: int, steps: int) -> FloatArray: ...

    @abc.abstractmethod
    def many(self, generator: np.random.Generator, draws: int) -> FloatArray: ...

    @abc.abstractmethod
    def log_density(self, x: FloatArray) -> FloatArray:
        """Of each arm at the points x [n], up to a constant an arm: [n, K]."""

    @abc.abstractmethod
    def reach(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of each arm: the point of largest density, and how far below and above it the density matters, [K] each."""

    def breaks(self) -> FloatArray:
        """Points between which each arm's density is smooth enough for one rule of quadrature, upwards, [n, K]."""
        peak, left, right = self.reach()
        return np.concatenate([peak - left * _STEPS[::-1, None], [peak], peak + right * _STEPS[:, None]])


_STEPS = np.array([0.11, 0.24, 0.41, 0.65, 1.0])  # of the way to where a density ends


class NormalLaw(ProductLaw):
    """Independent normal arms. Axes: [K] each."""

    def __init__(self, location: FloatArray, scale: FloatArray) -> None:
        self.location, self.scale = location, scale

    def orders(self, noise: Noise, t: int, steps: int) -> FloatArray:
        return self.location + self.scale * noise.rows("normal", t, self.location.shape[-1], steps)

    def many(self, generator: np.random.Generator, draws: int) -> FloatArray:
        return self.location + self.scale * generator.standard_normal((draws, self.location.shape[0]))

    def log_density(self, x: FloatArray) -> FloatArray:
        z = (x[:, None] - self.location) / np.maximum(self.scale, NARROWEST)
        return -0.5 * z * z

    def reach(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        far = np.sqrt(2 * _FALL) * self.scale
        return self.location, far, far


class BetaLaw(ProductLaw):
    """Independent beta arms, compared by their logits: alpha and beta of each are `both` [2, K].

    To be drawn from alone, it may be of as many steps as are drawn: [step, 2, K].
    """

    def __init__(self, both: FloatArray) -> None:
        self.both = both
        self._gammas: GammaDraws | None = None  # made for the first draw, and kept for all

    @property
    def alpha(self) -> FloatArray:
        """Of each arm, [K]."""
        return np.asarray(self.both[0])

    @property
    def beta(self) -> FloatArray:
        """Of each arm, [K]."""
        return np.asarray(self.both[1])

    def orders(self, noise: Noise, t: int, steps: int) -> FloatArray:
        arms = self.both.shape[-1]
        if self._gammas is None:
            self._gammas = GammaDraws(self.both.reshape(-1, 2 * arms))
        draw, boost = self._gammas.parts(noise, t, steps)
        logit = np.log(draw[:, :arms] / draw[:, arms:])
        return logit if boost is None else logit + (boost[:, :arms] - boost[:, arms:])

    def many(self, generator: np.random.Generator, draws: int) -> FloatArray:
        return _log_gammas(generator, self.alpha, draws) - _log_gammas(generator, self.beta, draws)

    def log_density(self, x: FloatArray) -> FloatArray:
        y = x[:, None]
        return -self.alpha * np.logaddexp(0, -y) - self.beta * np.logaddexp(0, y)

    def reach(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        alpha, beta = self.both
        total, peak = alpha + beta, np.log(alpha / beta)
        highest = -total * np.logaddexp(0, -peak) - beta * peak

        def curve(y: FloatArray) -> tuple[FloatArray, FloatArray]:
            log_sigmoid = -np.logaddexp(0, -y)
            return total * log_sigmoid - beta * y - highest, alpha - total * np.exp(log_sigmoid)

        start = np.sqrt(2 * _FALL * (1 / alpha + 1 / beta))
        return peak, *_distances(curve, peak, start)


class GammaLaw(ProductLaw):
    """Independent gamma arms, with mean shape / rate, compared by their logarithms. Axes: [K] each.

    To be drawn from alone, it may be of as many steps as are drawn: [step, K].
    """

    def __init__(self, shape: FloatArray, rate: FloatArray) -> None:
        self.shape, self.rate = shape, rate
        self._gammas: GammaDraws | None = None  # made for the first draw, and kept for all

    def orders(self, noise: Noise, t: int, steps: int) -> FloatArray:
        if self._gammas is None:
            self._gammas = GammaDraws(self.shape.reshape(-1, self.shape.shape[-1]))
        draw, boost = self._gammas.parts(noise, t, steps)
        logarithm = np.log(draw / self.rate)
        return logarithm if boost is None else logarithm + boost

    def many(self, generator: np.random.Generator, draws: int) -> FloatArray:
        return _log_gammas(generator, self.shape, draws) - np.log(self.rate)

    def log_density(self, x: FloatArray) -> FloatArray:
        y = x[:, None] - (np.log(self.shape) - np.log(self.rate))  # from the peak, where large shapes lose no digits
        return np.asarray(self.shape * (y - np.expm1(np.minimum(y, 700.0))))

    def reach(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        log_shape = np.log(self.shape)

        def curve(y: FloatArray) -> tuple[FloatArray, FloatArray]:
            slope = -self.shape * np.expm1(np.minimum(y - log_shape, 700.0))
            return self.shape * (y - log_shape) + slope, slope

        start = np.sqrt(2 * _FALL / self.shape)
        both = np.stack([np.maximum(start, _FALL / self.shape), np.minimum(start, 700.0)])
        return log_shape - np.log(self.rate), *_distances(curve, log_shape, both)


class NormalGammaLaw(ProductLaw):
    """Precision ~ Gamma(shape, rate), mean | precision ~ N(location, 1 / (weight precision)); compared by means."""

    def __init__(self, location: FloatArray, weight: FloatArray, shape: FloatArray, rate: FloatArray) -> None:
        self.location, self.weight, self.shape, self.rate = location, weight, shape, rate
        self._precision = GammaLaw(shape, rate)

    @property
    def scale(self) -> FloatArray:
        """Of the mean, which has a Student law with 2 shape degrees of freedom."""
        return np.asarray(np.sqrt(self.rate / (self.shape * self.weight)))

    def orders(self, noise: Noise, t: int, steps: int) -> FloatArray:
        log_precision = self._precision.orders(noise.at(0), t, steps)
        scale = np.exp(-0.5 * log_precision) / np.sqrt(self.weight)
        return self.location + scale * noise.at(1).rows("normal", t, self.location.shape[-1], steps)

    def many(self, generator: np.random.Generator, draws: int) -> FloatArray:
        return self.location + self.scale * generator.standard_t(2 * self.shape, (draws, self.location.shape[0]))

    def log_density(self, x: FloatArray) -> FloatArray:
        z = (x[:, None] - self.location) / self.scale
        return -(self.shape + 0.5) * np.log1p(z * z / (2 * self.shape))

    def reach(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        far = self.scale * np.sqrt(2 * self.shape) * np.sinh(self._ends())
        return self.location, far, far

    def breaks(self) -> FloatArray:
        # In the coordinate z = sqrt(2 shape) sinh(y) the density is log-concave: its steps are equal ones of y.
        steps = np.sinh(np.linspace(0.07, 1, 14)[:, None] * self._ends()) * (self.scale * np.sqrt(2 * self.shape))
        return np.concatenate([self.location - steps[::-1], [self.location], self.location + steps])

    def _ends(self) -> FloatArray:
        """Where cosh(y)^(-2 shape) has fallen: the chance of a value beyond, not its density, is what matters."""
        return np.arccosh(np.exp(np.minimum(_FALL / (2 * self.shape), 250.0)))


class VectorLaw:
    """mean + root z, z standard normal; arms are features of it.

    Axes: [d], and [d, d] for the root of the covariance; `features` [K, d], or None where every vector is an arm.
    """

    def __init__(self, mean: FloatArray, root: FloatArray, features: FloatArray | None) -> None:
        self.mean, self.root, self.features = mean, root, features

    def worlds(self, noise: Noise, t: int, steps: int) -> FloatArray:
        """The vectors drawn at step t and at those that follow it, [step, d]."""
        return self.mean + noise.rows("normal", t, self.mean.shape[0], steps) @ self.root.T

    def orders(self, noise: Noise, t: int, steps: int) -> FloatArray:
        assert self.features is not None
        return self.worlds(noise, t, steps) @ self.features.T

    def many(self, generator: np.random.Generator, draws: int) -> FloatArray:
        assert self.features is not None
        residual = generator.standard_normal((draws, self.mean.shape[0]))
        worlds = self.mean + residual @ self.root.T
        return worlds @ self.features.T


_NO_GUMBELS = (0, np.zeros((0, 0)))


class CategoricalLaw:
    """Arm k with probability proportional to exp(logits_k). Axes: [K]."""

    def __init__(self, logits: FloatArray) -> None:
        self.logits = logits

    def orders(self, noise: Noise, t: int, steps: int) -> FloatArray:
        slots = self.logits.shape[0]
        first, gumbels = noise.prepared.get(("gumbel", slots), _NO_GUMBELS)
        if not first <= t <= first + len(gumbels) - steps:
            uniforms = np.minimum(noise.ahead("uniform", t, slots, steps)[:, :slots], _LARGEST_UNIFORM)
            first, gumbels = noise.prepared["gumbel", slots] = t, -np.log(-np.log1p(-uniforms))
        return np.asarray(self.logits + gumbels[t - first : t - first + steps])

    def many(self, generator: np.random.Generator, draws: int) -> FloatArray:
        return self.logits + generator.gumbel(size=(draws, self.logits.shape[0]))

    def probabilities(self, available: Any) -> FloatArray:
        """Of each arm, none where it is not available."""
        offered = self.logits if available is None else np.where(available, self.logits, -np.inf)
        weight = np.exp(offered - np.max(offered))
        return np.asarray(weight / np.sum(weight))


def _log_gammas(generator: np.random.Generator, shape: FloatArray, draws: int) -> FloatArray:
    """Logarithms of gamma draws, [draw, K]; of small shapes too, whose values underflow."""
    size = (draws, shape.shape[0])
    boost = np.log1p(-generator.random(size)) / shape
    return np.asarray(np.log(generator.standard_gamma(np.where(shape < 1, shape + 1, shape), size))) + np.where(
        shape < 1, boost, 0
    )


_SIDES = np.array([[-1.0], [1.0]])


def _distances(curve: Any, peak: FloatArray, start: FloatArray) -> FloatArray:
    """How far below and above its peak a concave function has fallen enough, [2, K], by Newton's method, which comes
    from beyond; `curve` gives by how much it has fallen at points [2, K], and its slope there.
    """
    distance = start
    for _ in range(_NEWTON_STEPS):
        at = peak + _SIDES * distance
        fallen, slope = curve(at)
        step = (fallen + _FALL) / np.minimum(_SIDES * slope, -1e-30)
        distance = distance - np.where(at == peak, 0.0, step)  # where no number lies between, there is no slope
    return np.asarray(np.maximum(distance, 0.0))
