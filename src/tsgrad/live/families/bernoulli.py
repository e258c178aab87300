"""Beta priors of rewards that are 0 or 1."""

from typing import Any

import numpy as np
from scipy import special

from tsgrad.arrays import FloatArray
from tsgrad.live.beta_binomial import BetaBinomialLaw
from tsgrad.live.families.base import ArmFamily, Units, spread_of_arms
from tsgrad.live.families.counts import beyond_stirling, cdfs_of_counts, log_evidence
from tsgrad.problems import BernoulliBandit, IndependentArms


class BetaBinomial(ArmFamily):
    """Rewards 0 or 1; free coordinates are the logit of the prior mean and the logarithm of alpha + beta."""

    names = ("alpha", "beta")

    def start(self, units: Units) -> FloatArray:
        mean, variance = spread_of_arms(units, units.average * (1 - units.average) / units.pulls)
        return np.array([self.location(mean), np.log(max(mean * (1 - mean) / variance - 1, 0.5))])

    def location(self, mean: Any) -> Any:
        return np.asarray(special.logit(np.clip(mean, 1e-6, 1 - 1e-6)))

    def unit_log_likelihoods(self, free: FloatArray, units: Units) -> FloatArray:
        alpha, beta = np.moveaxis(self.parameters(free), -1, 0)
        pulls, strength = units.pulls, np.exp(free[..., 1])
        successes = log_evidence(alpha, units.total, strength, pulls)
        failures = log_evidence(beta, pulls - units.total, strength, pulls)
        before, after = np.log(strength), np.log(strength + pulls)
        both = beyond_stirling(strength + pulls, after) - beyond_stirling(strength, before)
        return np.asarray(successes + failures - both - 0.5 * (after - before))

    def parameters(self, free: FloatArray) -> FloatArray:
        strength = np.exp(free[..., 1])
        return np.stack([special.expit(free[..., 0]) * strength, special.expit(-free[..., 0]) * strength], axis=-1)

    def free(self, parameters: FloatArray) -> FloatArray:
        alpha, beta = parameters
        return np.array([np.log(alpha / beta), np.log(alpha + beta)])

    def predictive(self, free: FloatArray, units: Units) -> tuple[FloatArray, FloatArray]:
        alpha, beta = self.parameters(free).T
        return cdfs_of_counts(BetaBinomialLaw(units.pulls, alpha, beta), units.total)

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
