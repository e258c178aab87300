"""A comparison as tables for the terminal, as records for CSV, and as LaTeX."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.table import Table

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput
from tsgrad.evaluate.bounds import RegretBound
from tsgrad.evaluate.digits import common_decimals
from tsgrad.evaluate.statistics import QUANTILES, Gain
from tsgrad.evaluate.tables import Column, Line, csv_text, html_text, latex_text, terminal_table

if TYPE_CHECKING:
    from tsgrad.evaluate.comparison import Comparison

_SHOWN_ARMS = 6


class _Content(NamedTuple):
    """What a table holds, however it is written."""

    title: str
    columns: list[Column]
    lines: list[Line]


def table(comparison: "Comparison") -> Table:
    """Regrets, gains over the reference, and the regret that no policy can go below."""
    return terminal_table(*_content(comparison), caption=_caption(comparison))


def html_table(comparison: "Comparison") -> str:
    """The same as HTML."""
    return html_text(*_content(comparison), caption=_caption(comparison))


def _content(comparison: "Comparison") -> _Content:
    columns = [
        Column("policy", numbers=False),
        Column("regret (s.e.)"),
        Column(f"less than {comparison.reference} (s.e.)"),
        Column("interval"),
        Column("p"),
    ]
    regret_digits, gain_digits = _digits(comparison)
    lines = []
    for name, result in comparison.policies.items():
        gain = result.gain
        cells = ["", "", ""]
        if gain is not None:
            cells = [
                _with_error(gain.mean, gain.standard_error, gain_digits),
                f"{gain.low:.{gain_digits}f} to {gain.high:.{gain_digits}f}",
                "<.001" if gain.p_value < 0.001 else f"{gain.p_value:.3f}",
            ]
        lines.append(Line([name, _with_error(result.regret, result.standard_error, regret_digits), *cells]))
    bound = comparison.bound
    if bound is not None:
        lines.append(Line([_bound_name(bound), _bound_cell(bound, regret_digits), "", "", ""], starts_group=True))
    title = f"Regret over {comparison.horizon} steps, {comparison.episodes:,} common episodes, seed {comparison.seed}"
    return _Content(title, columns, lines)


def details(comparison: "Comparison") -> Table:
    """How regrets are spread over episodes, where the pulls went, and what a decision costs if that was timed."""
    digits = max(0, _digits(comparison)[0] - 1)
    timed = any(result.microseconds is not None for result in comparison.policies.values())
    columns = [Column("policy", numbers=False)]
    columns += [Column(header) for header in (*map(_percent, QUANTILES), "worst 10%", *["µs"] * timed)]
    lines = [
        Line(
            [
                name,
                *(f"{quantile:.{digits}f}" for quantile in result.quantiles),
                f"{result.worst_decile:.{digits}f}",
                *([] if result.microseconds is None else [f"{result.microseconds:.3g}"]),
                _some(result.pulls),
            ]
        )
        for name, result in comparison.policies.items()
    ]
    title = f"Regret over episodes, {'cost of a decision, ' if timed else ''}pulls"
    return terminal_table(title, [*columns, Column("pulls per arm", numbers=False)], lines)


def _digits(comparison: "Comparison") -> tuple[int, int]:
    """How many decimals regrets and gains have in a table: two digits of the smallest standard error."""
    return (
        common_decimals(comparison.standard_error.values()),
        common_decimals(gain.standard_error for gain in comparison.gains.values()),
    )


def _with_error(value: float, standard_error: float, digits: int) -> str:
    return f"{value:.{digits}f} ({standard_error:.{digits}f})"


def _caption(comparison: "Comparison") -> str:
    parts = []
    gains = comparison.gains.values()
    if gains:
        parts.append(f"simultaneous {100 * comparison.confidence:.4g}% confidence intervals")
    if comparison.to_precision is not None:
        widest = max(gain.half_width for gain in gains)
        parts.append(f"wanted ± {comparison.to_precision:.3g}, reached ± {widest:.3g}")
    if comparison.bound is not None:
        parts.append(f"no policy can go below the {_bound_name(comparison.bound)}")
    parts += _elsewhere(comparison)
    return "; ".join(parts)


def _elsewhere(comparison: "Comparison") -> list[str]:
    """Which policies were trained for other horizons than they were played at."""
    return [
        f"{name} was trained for {result.trained_for:,} steps, not for {comparison.horizon:,}"
        for name, result in comparison.policies.items()
        if result.trained_for is not None
    ]


def _bound_name(bound: RegretBound) -> str:
    return "exact optimum" if bound.kind == "optimum" else f"{bound.kind} bound"


def _bound_cell(bound: RegretBound, digits: int) -> str:
    if not bound.episodes:
        return f"{bound.regret:.{digits}f} (exact)"
    return _with_error(bound.regret, bound.standard_error, digits)


def _percent(level: float) -> str:
    return "median" if level == 0.5 else f"{100 * level:.0f}%"


def _some(pulls: FloatArray | None) -> str:
    if pulls is None:
        return ""
    return " ".join([f"{pull:.1f}" for pull in pulls[:_SHOWN_ARMS]] + ["…"] * (len(pulls) > _SHOWN_ARMS))


def records(comparison: "Comparison", beside: Mapping[str, Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
    """A record for each policy, with what stands `beside` it under the names of further columns.

    The reference has no gain; every record has the bound.
    """
    bound = comparison.bound
    elsewhere = bool(_elsewhere(comparison))
    return [
        {
            "policy": name,
            **({} if beside is None else beside[name]),
            "regret": result.regret,
            "standard_error": result.standard_error,
            "reference": comparison.reference,
            **{f"gain_{field}": getattr(result.gain, field, None) for field in Gain._fields},
            **{
                f"quantile_{100 * level:.0f}": float(value)
                for level, value in zip(QUANTILES, result.quantiles, strict=True)
            },
            "worst_decile": result.worst_decile,
            **({} if result.microseconds is None else {"microseconds": result.microseconds}),
            **{f"bound_{field}": getattr(bound, field, None) for field in ("kind", "regret", "standard_error")},
            "horizon": comparison.horizon,
            **({"trained_for": result.trained_for} if elsewhere else {}),
            "episodes": comparison.episodes,
            "seed": comparison.seed,
            **{f"pulls_{arm}": float(pull) for arm, pull in enumerate(() if result.pulls is None else result.pulls)},
        }
        for name, result in comparison.policies.items()
    ]


def episodes_csv(comparison: "Comparison") -> str:
    """The regret of every episode, a column for each policy."""
    if not comparison.regrets:
        raise BadInput("a comparison read from a file has no single episodes: compare again to write them")
    regrets = np.stack(list(comparison.regrets.values()), axis=1).tolist()
    return csv_text([dict(zip(("episode", *comparison.names), row, strict=True)) for row in _numbered(regrets)])


def _numbered(rows: list[list[float]]) -> list[list[float]]:
    return [[number, *row] for number, row in enumerate(rows)]


def latex(comparison: "Comparison") -> str:
    """A `tabular` with the rules of booktabs; what made it is in a comment."""
    columns = [
        Column("policy", numbers=False),
        *map(Column, ("regret", f"less than {comparison.reference}", "interval", "worst 10%")),
    ]
    regret_digits, gain_digits = (max(0, digits - 1) for digits in _digits(comparison))
    lines = []
    for name, result in comparison.policies.items():
        gain = result.gain
        cells = [name, _with_error(result.regret, result.standard_error, regret_digits), "", ""]
        if gain is not None:
            cells[2] = _with_error(gain.mean, gain.standard_error, gain_digits)
            cells[3] = f"[{gain.low:.{gain_digits}f}, {gain.high:.{gain_digits}f}]"
        lines.append(Line([*cells, f"{result.worst_decile:.{regret_digits}f}"]))
    bound = comparison.bound
    if bound is not None:
        lines.append(Line([_bound_name(bound), _bound_cell(bound, regret_digits), "", "", ""], starts_group=True))
    comment = (
        f"tsgrad {version('tsgrad')}: {comparison.episodes} common episodes of {comparison.horizon} steps,"
        f" seed {comparison.seed}; simultaneous {100 * comparison.confidence:.4g}% confidence intervals"
        + "".join(f"; {words}" for words in _elsewhere(comparison))
    )
    return latex_text(columns, lines, comment=comment)
