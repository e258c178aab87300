"""What a log says a policy would have earned: values with standard errors and intervals, and how far to trust them."""

from typing import NamedTuple

Z = 1.959964


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
