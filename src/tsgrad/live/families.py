"""Families of priors: what arms of past experiments say about the arms to come, by marginal likelihood.

Each arm of each experiment is one unit, known by its pulls, the sum of its rewards and, where rewards are normal, their
squares about its mean. A family has the marginal likelihood of a unit, with the arm's own mean integrated out, in
coordinates that are free to move: a location and logarithms.
"""

import abc
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput
from tsgrad.live.beta_binomial import BetaBinomialLaw
from tsgrad.problems import BernoulliBandit, GaussianBandit, IndependentArms, PoissonBandit


class Units(NamedTuple):
    """Arms of past experiments. Axes: [n] each; `squares` is None where rewards were not seen one by one, `experiment`
    (its number, from 0 on) where experiments are not told apart.
    """

    pulls: FloatArray
    total: FloatArray
    squares: FloatArray | None
    experiment: Any = None

    @property
    def average(self) -> FloatArray:
        """The mean reward of each."""
        return np.asarray(self.total / self.pulls)

    def some(self, which: Any) -> "Units":
        """Those with these indices."""
        squares, experiment = (None if each is None else each[which] for each in (self.squares, self.experiment))
        return Units(self.pulls[which], self.total[which], squares, experiment)


class Family(abc.ABC):
    """A family of priors; `names` are its parameters in the units of the problem. The second free coordinate says how
    much arms differ; they differ more where it moves by the sign `weaker`.
    """

    names: tuple[str, ...]
    weaker: float = -1.0
    spread: str | None = None  # the parameter that is the exponential of the second free coordinate, if one is

    @abc.abstractmethod
    def start(self, units: Units) -> FloatArray:
        """Free coordinates to begin from, by moments."""

    @abc.abstractmethod
    def unit_log_likelihoods(self, free: FloatArray, units: Units) -> FloatArray:
        """Of every unit, [..., n], up to what no parameter changes; for free coordinates [F] or [..., n, F]."""

    def log_likelihood(self, free: FloatArray, units: Units) -> float:
        """Of all units."""
        return float(np.sum(self.unit_log_likelihoods(free, units)))

    @abc.abstractmethod
    def parameters(self, free: FloatArray) -> FloatArray:
        """The parameters by name, from free coordinates; [..., P]."""

    @abc.abstractmethod
    def drawn(self, free: FloatArray, normal: FloatArray) -> FloatArray:
        """Parameters of the prior of an experiment to come, [M, P], for each row of free coordinates [M, F].

        Where experiments have levels, these are made of standard normal draws [M].
        """

    @abc.abstractmethod
    def predictive(self, free: FloatArray, units: Units) -> tuple[FloatArray, FloatArray]:
        """The chances that a unit's total is below, and at most, what it was; free coordinates may be each unit's."""

    @abc.abstractmethod
    def simulated(self, free: FloatArray, units: Units, generator: np.random.Generator) -> Units:
        """Units with the same pulls, drawn from the prior; free coordinates may be each unit's."""

    @abc.abstractmethod
    def shrunk(self, free: FloatArray, units: Units) -> FloatArray:
        """The posterior mean of each unit; free coordinates may be each unit's."""

    @abc.abstractmethod
    def problem(self, parameters: FloatArray, arms: int) -> IndependentArms:
        """The bandit with these parameters."""


class ArmFamily(Family):
    """One prior for all arms, of whatever experiment."""

    @abc.abstractmethod
    def location(self, mean: Any) -> Any:
        """The first free coordinate of a prior with this mean."""

    @abc.abstractmethod
    def widened(self, parameters: FloatArray, level_std: float) -> FloatArray:
        """The parameters whose arms have the mean and variance of arms of an experiment whose level is not known yet:
        normal around that of `parameters`, with this standard deviation of the first free coordinate.
        """

    @abc.abstractmethod
    def posterior(self, parameters: FloatArray, pulls: FloatArray, total: FloatArray) -> IndependentArms:
        """The bandit with as many arms as there are pulls, [K], whose prior is what these pulls tell of each."""

    def drawn(self, free: FloatArray, normal: FloatArray) -> FloatArray:
        return self.parameters(free)


def _spread(units: Units, within: FloatArray) -> tuple[float, float]:
    """Mean of the arms' means, and their variance beyond what noise `within` explains; at least a tenth of it."""
    mean = float(np.sum(units.total) / np.sum(units.pulls))
    seen = float(np.mean((units.average - mean) ** 2))
    return mean, max(seen - float(np.mean(within)), 0.1 * seen, 1e-12)


def _log_rising(start: Any, steps: FloatArray) -> Any:
    """The logarithm of start (start + 1) ... (start + steps - 1) / start^steps, right to 1e-12 of `steps` or better
    whatever the start: the difference of two gamma functions is nothing but rounding where that is large.
    """
    small = np.clip(start, _TINY, _STIRLING)
    near = special.gammaln(small + steps) - special.gammaln(small) - steps * np.log(small)
    if np.all(start < _STIRLING):
        return near
    end = start + steps
    far = (end - 0.5) * np.log1p(steps / start) - steps + _stirling(end) - _stirling(start)
    return np.where(start < _STIRLING, near, far)


_TINY = 1e-300  # what a search rounds to zero on its way to a prior that is too weak for any log
_STIRLING = 50.0  # from where three terms of Stirling's series are exact


def _stirling(x: Any) -> Any:
    inverse = 1 / np.maximum(x, _STIRLING)
    return inverse * (1 / 12 - inverse**2 * (1 / 360 - inverse**2 / 1260))


def _cdfs(law: Any, total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Below, and at most, totals that are counts; there is nothing below zero, where scipy would look."""
    return np.where(total > 0, law.cdf(np.maximum(total - 1, 0)), 0.0), law.cdf(total)


class BetaBinomial(ArmFamily):
    """Rewards 0 or 1; free coordinates are the logit of the prior mean and the logarithm of alpha + beta."""

    names = ("alpha", "beta")

    def start(self, units: Units) -> FloatArray:
        mean, variance = _spread(units, units.average * (1 - units.average) / units.pulls)
        return np.array([self.location(mean), np.log(max(mean * (1 - mean) / variance - 1, 0.5))])

    def location(self, mean: Any) -> Any:
        return np.asarray(special.logit(np.clip(mean, 1e-6, 1 - 1e-6)))

    def unit_log_likelihoods(self, free: FloatArray, units: Units) -> FloatArray:
        alpha, beta = np.moveaxis(self.parameters(free), -1, 0)
        logit, failures = free[..., 0], units.pulls - units.total
        rising = _log_rising(alpha, units.total) + _log_rising(beta, failures) - _log_rising(alpha + beta, units.pulls)
        return np.asarray(rising - units.total * np.logaddexp(0, -logit) - failures * np.logaddexp(0, logit))

    def parameters(self, free: FloatArray) -> FloatArray:
        strength = np.exp(free[..., 1])
        return np.stack([special.expit(free[..., 0]) * strength, special.expit(-free[..., 0]) * strength], axis=-1)

    def predictive(self, free: FloatArray, units: Units) -> tuple[FloatArray, FloatArray]:
        alpha, beta = self.parameters(free).T
        return _cdfs(BetaBinomialLaw(units.pulls, alpha, beta), units.total)

    def simulated(self, free: FloatArray, units: Units, generator: np.random.Generator) -> Units:
        alpha, beta = self.parameters(free).T
        rates = generator.beta(alpha, beta, len(units.pulls))
        total = generator.binomial(units.pulls.astype(int), rates)
        return units._replace(total=np.asarray(total, np.float64), squares=None)

    def shrunk(self, free: FloatArray, units: Units) -> FloatArray:
        alpha, beta = self.parameters(free).T
        return np.asarray((alpha + units.total) / (alpha + beta + units.pulls))

    def problem(self, parameters: FloatArray, arms: int) -> IndependentArms:
        return BernoulliBandit(alpha=parameters[0], beta=parameters[1], arms=arms)

    def widened(self, parameters: FloatArray, level_std: float) -> FloatArray:
        alpha, beta = parameters
        z = np.linspace(-8.0, 8.0, 641)
        rates, weights = special.expit(np.log(alpha / beta) + level_std * z), special.softmax(-0.5 * z**2)
        mean = weights @ rates
        within = weights @ (rates * (1 - rates)) / (alpha + beta + 1)
        strength = mean * (1 - mean) / (within + weights @ (rates - mean) ** 2) - 1
        return np.asarray(np.array([mean, 1 - mean]) * strength)

    def posterior(self, parameters: FloatArray, pulls: FloatArray, total: FloatArray) -> IndependentArms:
        return BernoulliBandit(alpha=parameters[0] + total, beta=parameters[1] + pulls - total)


class GammaPoisson(ArmFamily):
    """Counts; free coordinates are the logarithms of the prior mean and of the shape."""

    names = ("shape", "rate")

    def start(self, units: Units) -> FloatArray:
        mean, variance = _spread(units, units.average / units.pulls)
        return np.array([self.location(mean), np.log(max(mean**2 / variance, 1e-3))])

    def location(self, mean: Any) -> Any:
        return np.asarray(np.log(np.maximum(mean, 1e-9)))

    def unit_log_likelihoods(self, free: FloatArray, units: Units) -> FloatArray:
        shape, rate = np.moveaxis(self.parameters(free), -1, 0)
        rising = _log_rising(shape, units.total)
        return np.asarray(rising + units.total * free[..., 0] - (shape + units.total) * np.log1p(units.pulls / rate))

    def parameters(self, free: FloatArray) -> FloatArray:
        shape = np.exp(free[..., 1])
        return np.stack([shape, shape / np.exp(free[..., 0])], axis=-1)

    def predictive(self, free: FloatArray, units: Units) -> tuple[FloatArray, FloatArray]:
        shape, rate = self.parameters(free).T
        law = stats.nbinom(shape, rate / (rate + units.pulls))
        return _cdfs(law, units.total)

    def simulated(self, free: FloatArray, units: Units, generator: np.random.Generator) -> Units:
        shape, rate = self.parameters(free).T
        total = generator.poisson(units.pulls * generator.gamma(shape, 1 / rate, len(units.pulls)))
        return units._replace(total=np.asarray(total, np.float64), squares=None)

    def shrunk(self, free: FloatArray, units: Units) -> FloatArray:
        shape, rate = self.parameters(free).T
        return np.asarray((shape + units.total) / (rate + units.pulls))

    def problem(self, parameters: FloatArray, arms: int) -> IndependentArms:
        return PoissonBandit(shape=parameters[0], rate=parameters[1], arms=arms)

    def widened(self, parameters: FloatArray, level_std: float) -> FloatArray:
        shape, rate = parameters
        # Moments of a lognormal level, times those of a gamma variable with mean one.
        wider = 1 / (np.expm1(level_std**2) + np.exp(level_std**2) / shape)
        return np.array([wider, wider * rate / (shape * np.exp(level_std**2 / 2))])

    def posterior(self, parameters: FloatArray, pulls: FloatArray, total: FloatArray) -> IndependentArms:
        return PoissonBandit(shape=parameters[0] + total, rate=parameters[1] + pulls)


class Normal(ArmFamily):
    """Normal rewards; free coordinates are the prior mean and the logarithms of prior and noise standard deviation,
    the latter only where the noise is not known.
    """

    names = ("prior_mean", "prior_std", "noise_std")
    weaker = 1.0
    spread = "prior_std"

    def __init__(self, noise_std: float | None) -> None:
        self.noise_std = noise_std

    def start(self, units: Units) -> FloatArray:
        noise = self.noise_std
        if noise is None:
            assert units.squares is not None
            noise = float(np.sqrt(np.sum(units.squares) / np.sum(units.pulls - 1)))
        mean, variance = _spread(units, noise**2 / units.pulls)
        free = [mean, np.log(variance) / 2]
        return np.array(free if self.noise_std is not None else [*free, np.log(noise)])

    def location(self, mean: Any) -> Any:
        return mean

    def unit_log_likelihoods(self, free: FloatArray, units: Units) -> FloatArray:
        mean, std, noise = np.moveaxis(self.parameters(free), -1, 0)
        variance = std**2 + noise**2 / units.pulls
        between = np.asarray(-0.5 * ((units.average - mean) ** 2 / variance + np.log(2 * np.pi * variance)))
        if self.noise_std is not None:
            return between
        assert units.squares is not None
        return np.asarray(between - units.squares / (2 * noise**2) - (units.pulls - 1) * np.log(noise))

    def parameters(self, free: FloatArray) -> FloatArray:
        noise = np.exp(free[..., 2]) if self.noise_std is None else np.full(free.shape[:-1], self.noise_std)
        return np.stack([free[..., 0], np.exp(free[..., 1]), noise], axis=-1)

    def predictive(self, free: FloatArray, units: Units) -> tuple[FloatArray, FloatArray]:
        mean, std, noise = self.parameters(free).T
        below = stats.norm.cdf(units.average, mean, np.sqrt(std**2 + noise**2 / units.pulls))
        return below, below

    def simulated(self, free: FloatArray, units: Units, generator: np.random.Generator) -> Units:
        mean, std, noise = self.parameters(free).T
        spread = np.sqrt(std**2 + noise**2 / units.pulls)
        total = units.pulls * (mean + spread * generator.standard_normal(len(units.pulls)))
        degrees = units.pulls - 1
        # Of a single reward there are none, and numpy draws no chi-square of no degrees.
        squares = noise**2 * np.where(degrees > 0, generator.chisquare(np.maximum(degrees, 1)), 0.0)
        return units._replace(total=total, squares=None if units.squares is None else squares)

    def shrunk(self, free: FloatArray, units: Units) -> FloatArray:
        mean, std, noise = self.parameters(free).T
        weight = std**2 / (std**2 + noise**2 / units.pulls)
        return np.asarray(mean + weight * (units.average - mean))

    def problem(self, parameters: FloatArray, arms: int) -> IndependentArms:
        return GaussianBandit(prior_mean=parameters[0], prior_std=parameters[1], noise_std=parameters[2], arms=arms)

    def widened(self, parameters: FloatArray, level_std: float) -> FloatArray:
        mean, std, noise = parameters
        return np.array([mean, np.hypot(std, level_std), noise])

    def posterior(self, parameters: FloatArray, pulls: FloatArray, total: FloatArray) -> IndependentArms:
        mean, std, noise = parameters
        precision = 1 / std**2 + pulls / noise**2
        centre = (mean / std**2 + total / noise**2) / precision
        return GaussianBandit(prior_mean=centre, prior_std=1 / np.sqrt(precision), noise_std=noise)


def family_of(name: str, noise_std: Any) -> ArmFamily:
    """The family of rewards with this name."""
    if name != "gaussian" and noise_std is not None:
        raise BadInput(f"noise_std must be left out for family {name!r}: it is for 'gaussian'")
    return {"bernoulli": BetaBinomial, "poisson": GammaPoisson}.get(name, lambda: Normal(noise_std))()
