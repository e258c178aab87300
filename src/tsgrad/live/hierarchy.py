"""Priors over experiments: arms of one experiment have a level in common, and levels differ between experiments."""

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.live.families import ArmFamily, Family, Units
from tsgrad.live.levels import Experiments, integrated
from tsgrad.problems import IndependentArms


class OverExperiments(Family):
    """The prior of a base family whose first free coordinate is normal over experiments, with standard deviation
    `experiment_std`: of the log-odds where rewards are 0 or 1, of the logarithm where they are counts, of rewards
    themselves where these are normal. The levels of past experiments are integrated out.

    Free coordinates are those of the base, and the logarithm of `experiment_std`.
    """

    def __init__(self, base: ArmFamily) -> None:
        self.base, self.names = base, (*base.names, "experiment_std")
        self.weaker, self.spread = base.weaker, base.spread

    def start(self, units: Units) -> FloatArray:
        averages = np.bincount(units.experiment, units.total) / np.bincount(units.experiment, units.pulls)
        between = float(np.std(self.base.location(averages)))
        return np.append(self.base.start(units), np.log(max(between, 1e-3)))

    def unit_log_likelihoods(self, free: FloatArray, units: Units) -> FloatArray:
        """Those of experiments, which are what is independent here: [experiments]."""
        return integrated(self.base, free[:-1], float(np.exp(free[-1])), units).log_likelihood

    def located(self, free: FloatArray, units: Units) -> FloatArray:
        """Free coordinates of the base for every unit, at the posterior mean of its experiment's level, [n, F]."""
        levels = integrated(self.base, free[:-1], float(np.exp(free[-1])), units).mean
        own = np.repeat(free[None, :-1], len(units.pulls), axis=0)
        own[:, 0] += levels[Experiments(units).of_unit]
        return own

    def parameters(self, free: FloatArray) -> FloatArray:
        return np.concatenate([self.base.parameters(free[..., :-1]), np.exp(free[..., -1:])], axis=-1)

    def drawn(self, free: FloatArray, normal: FloatArray) -> FloatArray:
        """Parameters of the base for the experiments to come, [M, P], one for each row of free coordinates [M, F]."""
        own = free[:, :-1].copy()
        own[:, 0] += np.exp(free[:, -1]) * normal
        return self.base.parameters(own)

    def predictive(self, free: FloatArray, units: Units) -> tuple[FloatArray, FloatArray]:
        return self.base.predictive(self.located(free, units), units)

    def simulated(self, free: FloatArray, units: Units, generator: np.random.Generator) -> Units:
        own = np.repeat(free[None, :-1], len(units.pulls), axis=0)
        levels = generator.standard_normal(int(np.max(units.experiment)) + 1)
        own[:, 0] += np.exp(free[-1]) * levels[units.experiment]
        return self.base.simulated(own, units, generator)

    def shrunk(self, free: FloatArray, units: Units) -> FloatArray:
        return self.base.shrunk(self.located(free, units), units)

    def problem(self, parameters: FloatArray, arms: int) -> IndependentArms:
        """The bandit of the next experiment, whose level nobody knows yet: a prior of arms at the middle level would be
        surer of each than past experiments allow.
        """
        return self.base.problem(self.base.widened(parameters[:-1], float(parameters[-1])), arms)
