"""Gamma priors of rewards that are counts."""

from typing import Any

import numpy as np
from scipy import stats

from tsgrad.arrays import FloatArray
from tsgrad.live.families.base import ArmFamily, Units, spread_of_arms
from tsgrad.live.families.counts import cdfs_of_counts, log_evidence
from tsgrad.problems import IndependentArms, PoissonBandit


class GammaPoisson(ArmFamily):
    """Counts; free coordinates are the logarithms of the prior mean and of the shape."""

    names = ("shape", "rate")

    def start(self, units: Units) -> FloatArray:
        mean, variance = spread_of_arms(units, units.average / units.pulls)
        return np.array([self.location(mean), np.log(max(mean**2 / variance, 1e-3))])

    def location(self, mean: Any) -> Any:
        return np.asarray(np.log(np.maximum(mean, 1e-9)))

    def unit_log_likelihoods(self, free: FloatArray, units: Units) -> FloatArray:
        shape, rate = np.moveaxis(self.parameters(free), -1, 0)
        evidence = log_evidence(shape, units.total, rate, units.pulls)
        return np.asarray(evidence - 0.5 * np.log1p(units.pulls / rate))

    def parameters(self, free: FloatArray) -> FloatArray:
        shape = np.exp(free[..., 1])
        return np.stack([shape, shape / np.exp(free[..., 0])], axis=-1)

    def free(self, parameters: FloatArray) -> FloatArray:
        shape, rate = parameters
        return np.array([np.log(shape / rate), np.log(shape)])

    def predictive(self, free: FloatArray, units: Units) -> tuple[FloatArray, FloatArray]:
        shape, rate = self.parameters(free).T
        law = stats.nbinom(shape, rate / (rate + units.pulls))
        return cdfs_of_counts(law, units.total)

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
