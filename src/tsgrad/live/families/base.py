"""What a family of priors is: the marginal likelihood of arms, and what is made of a fit."""

import abc
from typing import Any, NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.problems import IndependentArms


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
    def free(self, parameters: FloatArray) -> FloatArray:
        """The free coordinates [F] of a prior with these parameters [P]."""

    def free_scale(self, parameters: FloatArray) -> FloatArray:
        """By how much priors differ in each free coordinate [F] that are one step apart: logarithms by one."""
        return np.ones_like(self.free(parameters))

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


def spread_of_arms(units: Units, within: FloatArray) -> tuple[float, float]:
    """Mean of the arms' means, and their variance beyond what noise `within` explains; at least a tenth of it."""
    mean = float(np.sum(units.total) / np.sum(units.pulls))
    seen = float(np.mean((units.average - mean) ** 2))
    return mean, max(seen - float(np.mean(within)), 0.1 * seen, 1e-12)
