"""What a log says a policy would have earned: values with standard errors and intervals, and how far to trust them."""

from typing import NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray

Z = 1.959964
FEW_REWARDS = 10  # other than 0, below which their spread says little


class Estimate(NamedTuple):
    """A mean reward per decision, its standard error, and an interval that holds the truth in 95 of 100 logs."""

    value: float
    standard_error: float
    interval: tuple[float, float]

    @classmethod
    def around(cls, value: float, error: float, z: float = Z) -> "Estimate":
        """With an interval of so many standard errors to each side.

        >>> Estimate.around(0.5, 0.1, z=2.0).interval
        (0.3, 0.7)
        """
        return cls(value, error, (value - z * error, value + z * error))

    @classmethod
    def of_rate(cls, value: float, error: float, trials: float, z: float = Z) -> "Estimate":
        """Of rewards 0 and 1, with Wilson's interval: that has a width also where none was 1.

        The effective number of trials is the one of which the standard error is right, or `trials` where it is 0.

        >>> [round(end, 3) for end in Estimate.of_rate(0.0, 0.0, trials=100).interval]
        [0.0, 0.037]
        """
        if not 0 <= value <= 1:  # as doubly robust estimates can be
            return cls.around(value, error, z)
        number = value * (1 - value) / error**2 if error > 0 and 0 < value < 1 else trials
        return cls(value, error, wilson(value, number, z))


def wilson(rate: float, trials: float, z: float = Z) -> tuple[float, float]:
    """The rates that are within z of their own standard errors of the one observed.

    >>> [round(end, 3) for end in wilson(0.1, 50)]
    [0.043, 0.214]
    """
    centre = (rate + z**2 / (2 * trials)) / (1 + z**2 / trials)
    reach = z * np.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2)) / (1 + z**2 / trials)
    return max(float(centre - reach), 0.0), min(float(centre + reach), 1.0)


def are_rates(rewards: FloatArray) -> bool:
    """Whether rewards are 0 and 1."""
    return bool(np.all((rewards == 0) | (rewards == 1)))


def few_rewards(number: int) -> list[str]:
    """A warning, where only so many rewards other than 0 count."""
    if number >= FEW_REWARDS:
        return []
    which = f"Only {number}" if number else "None"
    return [f"{which} of the rewards that count for this policy differ from 0: intervals are rough."]


class LogEstimate(NamedTuple):
    """What a policy would have earned per decision, by several methods. Prints as a table.

    Attributes:
        estimates: by the name of the method: a value with its standard error and 95% confidence interval.
        rows: the number of decisions in the log.
        effective_rows: the effective sample size: the log says as much as this many decisions of the policy itself.
        warnings: why estimates should not be trusted, in words.

    """

    estimates: dict[str, Estimate]
    rows: int
    effective_rows: float
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.rows} rows, effective sample size {self.effective_rows:.0f}"]
        for name, estimate in self.estimates.items():
            low, high = estimate.interval
            lines.append(
                f"{name:>28} {estimate.value:.5g} (s.e. {estimate.standard_error:.2g}, {low:.5g} to {high:.5g})"
            )
        return "\n".join([*lines, *self.warnings])
