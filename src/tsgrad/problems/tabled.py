"""Arms of which all that matters is in one of finitely many cells: what tables of indices and exact bounds need."""

import abc
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Integer

from tsgrad.arrays import FloatArray
from tsgrad.problems.base import IndependentArms


class NormalArm(NamedTuple):
    """An arm with a normal prior and normal rewards; its cell is how often it was pulled.

    Attributes:
        prior_std: the prior's standard deviation.
        noise_std: that of a reward around its mean.

    """

    prior_std: float
    noise_std: float

    def cell_count(self, horizon: int) -> int:
        """How many cells the arm can be in before the last of `horizon` decisions."""
        return horizon

    def stds(self, horizon: int) -> FloatArray:
        """The posterior's standard deviation in every cell.

        >>> print(NormalArm(1.0, 1.0).stds(3).round(3))
        [1.    0.707 0.577]
        """
        pulls = np.arange(horizon, dtype=np.float64)
        return np.asarray(self.prior_std / np.sqrt(1 + (self.prior_std / self.noise_std) ** 2 * pulls))


class BetaArm(NamedTuple):
    """An arm with a beta prior that pays one or nothing; its cell is n (n + 1) / 2 + successes, n its pulls.

    Attributes:
        alpha: of the prior.
        beta: of the prior.

    """

    alpha: float
    beta: float

    def cell_count(self, horizon: int) -> int:
        """How many cells the arm can be in before the last of `horizon` decisions."""
        return horizon * (horizon + 1) // 2

    def counts(self, horizon: int) -> tuple[FloatArray, FloatArray]:
        """The parameters of the beta posterior in every cell.

        >>> alpha, beta = BetaArm(1.0, 1.0).counts(3)
        >>> print(alpha, beta)
        [1. 1. 2. 1. 2. 3.] [1. 2. 1. 3. 2. 1.]
        """
        successes, failures = beta_cells(horizon)
        return self.alpha + successes, self.beta + failures


def beta_cells(horizon: int) -> tuple[FloatArray, FloatArray]:
    """(successes, failures) of every cell of a `BetaArm` that can be reached before the last of `horizon` decisions.

    >>> successes, failures = beta_cells(3)
    >>> print(successes, failures)
    [0. 0. 1. 0. 1. 2.] [0. 1. 0. 2. 1. 0.]
    """
    pulls = np.repeat(np.arange(horizon), np.arange(1, horizon + 1))
    successes = np.concatenate([np.arange(n + 1) for n in range(horizon)])
    return successes.astype(np.float64), (pulls - successes).astype(np.float64)


def reached_cells(step: int) -> slice:
    """The cells of `beta_cells` with at most `step` pulls, which come first."""
    return slice((step + 1) * (step + 2) // 2)


class TabledArms(IndependentArms):
    """Independent arms that are all normal or all beta arms: every index is a table, and bounds have closed forms."""

    @abc.abstractmethod
    def tabled_arms(self) -> list[NormalArm] | list[BetaArm]:
        """What each arm is, on the host; K of them."""

    @abc.abstractmethod
    def cells(self, belief: Any) -> Integer[Array, "K"]:
        """The cell of each arm."""

    @abc.abstractmethod
    def expected_best_mean(self, pulls: int | None = None) -> float:
        """E max_k of the arms' true means; with `pulls`, of their posterior means after so many pulls of every arm."""

    @property
    @abc.abstractmethod
    def prior_strength(self) -> FloatArray:
        """How many rewards each arm's prior is worth, [K]: after n of them its weight is strength / (strength + n)."""
