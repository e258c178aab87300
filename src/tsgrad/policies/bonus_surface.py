"""What a policy offers that learned a bonus and a spread: a surface over steps left and what is known of an arm."""

import abc
from typing import Any

import equinox as eqx

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.policies.base import SamplingPolicy


class BonusSurface(SamplingPolicy):
    """Draws arm values around posterior means plus a bonus, both in standard deviations of the posterior.

    Its coefficients mean little one by one: reports draw what they make together. No bonus lifts an arm above the
    `ceiling`, where there is one.
    """

    ceiling: eqx.AbstractVar[Leaf | None]

    @abc.abstractmethod
    def log_ranges(self, library: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """From where to where the surface goes: logarithms of steps left and of strength, by NumPy or JAX."""

    @abc.abstractmethod
    def surface(self, left: FloatArray, strength: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Returns bonus and logarithm of the spread.

        Args:
            left: steps left, this one included.
            strength: how many rewards the belief about an arm is worth; of the shape of `left`.

        Returns:
            Both, of the same shape.

        """
