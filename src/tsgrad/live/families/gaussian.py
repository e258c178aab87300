"""Normal priors of normal rewards."""

from typing import Any

import numpy as np
from scipy import stats

from tsgrad.arrays import FloatArray
from tsgrad.live.families.base import ArmFamily, Units, spread_of_arms
from tsgrad.problems import GaussianBandit, IndependentArms


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
        mean, variance = spread_of_arms(units, noise**2 / units.pulls)
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

    def free(self, parameters: FloatArray) -> FloatArray:
        mean, std, noise = parameters
        return np.array([mean, np.log(std), *([np.log(noise)] if self.noise_std is None else [])])

    def free_scale(self, parameters: FloatArray) -> FloatArray:
        scale = np.ones_like(self.free(parameters))
        scale[0] = parameters[1]
        return scale

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
