"""A study of estimators as a table for the terminal."""

from typing import TYPE_CHECKING

from rich.table import Table

from tsgrad.evaluate.tables import Column, Line, terminal_table

if TYPE_CHECKING:
    from tsgrad.evaluate.variance import VarianceStudy


def study_table(study: "VarianceStudy") -> Table:
    """A row for each pair, the best buy first."""
    headers = ("pair", "engine", "variance", "µs", "variance x time", "bias", "±", "z")
    lines = [
        Line(
            [
                pair.name,
                pair.engine,
                three_digits(pair.trace),
                three_digits(pair.microseconds),
                three_digits(study.relative_cost(pair)),
                f"{pair.bias:.2f}",
                f"{pair.bias_by_chance:.2f}",
                f"{pair.largest_z:.1f}{'!' if study.is_biased(pair) else ''}",
            ]
        )
        for pair in study.pairs
    ]
    return terminal_table(
        f"Gradients of single episodes, {study.horizon} steps, seed {study.seed}",
        [Column(header, numbers=header not in {"pair", "engine"}) for header in headers],
        lines,
        caption=f"bias: length of the mean difference from {study.reference}, over that of the gradient; ±: what chance"
        f" alone would give it; z: the largest over meta-parameters, biased above {study.largest_z_by_chance:.1f}",
    )


def three_digits(number: float) -> str:
    """A number to three digits, without exponents where it is of a size that people read.

    >>> [three_digits(number) for number in (0.01234, 1.5, 23456.7, 3.2e9)]
    ['0.0123', '1.5', '23,500', '3.2e+09']
    """
    return f"{number:.3g}" if number < 1000 or number >= 1e7 else f"{float(f'{number:.3g}'):,.0f}"
