"""Rewards in standard units, in which a fit is the same whatever unit they were logged in."""

from typing import NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput
from tsgrad.live.families import ArmFamily, Normal, Units

_NO_NOISE = 1e-10  # of the size of rewards: what summing thousands of them leaves of rounding is less


class Standard(NamedTuple):
    """Rewards are `centre` + `scale` times those in standard units. Zero and one where rewards have no unit."""

    centre: float = 0.0
    scale: float = 1.0

    def units(self, units: Units) -> Units:
        """Arms, with rewards in standard units."""
        squares = None if units.squares is None else units.squares / self.scale**2
        return units._replace(total=(units.total - units.pulls * self.centre) / self.scale, squares=squares)

    def law(self, law: ArmFamily) -> ArmFamily:
        """A family, with its known noise in standard units."""
        if isinstance(law, Normal) and law.noise_std is not None:
            return Normal(law.noise_std / self.scale)
        return law

    def rewards(self, name: str, value: float) -> float:
        """A parameter of this name, in the unit of rewards."""
        return self.scale * value + (self.centre if name == "prior_mean" else 0.0)

    def free(self, free: FloatArray) -> FloatArray:
        """Free coordinates, in the unit of rewards; those behind the first are logarithms."""
        if self == Standard():
            return free
        return np.concatenate([self.centre + self.scale * free[:1], free[1:] + np.log(self.scale)])

    def covariance(self, covariance: FloatArray) -> FloatArray:
        """That of free coordinates, in the unit of rewards."""
        scales = np.array([self.scale, *np.ones(len(covariance) - 1)])
        return np.asarray(covariance * np.outer(scales, scales))


def standard_of(law: ArmFamily, units: Units) -> Standard:
    """In which normal rewards have mean 0 and standard deviation 1.

    Raises:
        BadInput: if the noise of normal rewards is not given, and the log has none to estimate it from.

    """
    if not isinstance(law, Normal):
        return Standard()
    rewards = float(np.sum(units.pulls))
    centre = float(np.sum(units.total)) / rewards
    between = float(np.sum(units.pulls * (units.average - centre) ** 2)) / rewards
    if law.noise_std is not None:
        return Standard(centre, float(np.sqrt(between + law.noise_std**2)))
    if units.squares is None or rewards <= len(units.pulls):
        raise BadInput("noise_std must be given where no arm has two rewards that were seen one by one")
    within = float(np.sum(units.squares)) / rewards
    if np.sqrt(within) <= _NO_NOISE * float(np.max(np.abs(units.average))):
        raise BadInput(
            "noise_std must be given where every arm pays the same each time: the log has no noise to estimate it from"
        )
    return Standard(centre, float(np.sqrt(between + within)))
