"""A comparison as tables for the terminal, CSV, LaTeX and plain data."""

import csv
import io
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from tsgrad.arrays import FloatArray
from tsgrad.evaluate.bounds import RegretBound
from tsgrad.evaluate.statistics import QUANTILES, Gain

if TYPE_CHECKING:
    from tsgrad.evaluate.comparison import Comparison

_SHOWN_ARMS = 6
_LATEX_SPECIAL = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def table(comparison: "Comparison") -> Table:
    """Regrets, gains over the reference, and the regret that no policy can go below."""
    shown = Table(
        title=f"Regret over {comparison.horizon} steps, {comparison.episode_count:,} common episodes,"
        f" seed {comparison.seed}",
        caption=_caption(comparison),
    )
    shown.add_column("policy", overflow="fold")
    for header in ("regret", "s.e.", f"less than\n{comparison.reference}", "s.e.", "interval", "p"):
        shown.add_column(header, justify="right", no_wrap=not header.startswith("less"), overflow="fold")
    gains = comparison.gains
    for name in comparison.names:
        shown.add_row(
            Text(name),
            f"{comparison.regret[name]:.3f}",
            f"{comparison.standard_error[name]:.3f}",
            *(_gain_cells(gains[name]) if name in gains else ("", "", "", "")),
        )
    if comparison.bound is not None:
        shown.add_section()
        shown.add_row(_bound_name(comparison.bound), *_bound_cells(comparison.bound))
    return shown


def details(comparison: "Comparison") -> Table:
    """How regrets are spread over episodes, what a decision costs, and where the pulls went."""
    shown = Table(title="Regret over episodes, cost of a decision, pulls")
    shown.add_column("policy", overflow="fold")
    for header in (*(_percent(level) for level in QUANTILES), "worst 10%", "µs"):
        shown.add_column(header, justify="right", no_wrap=True)
    shown.add_column("pulls per arm")
    for name in comparison.names:
        shown.add_row(
            Text(name),
            *(f"{quantile:.2f}" for quantile in comparison.regret_quantiles[name]),
            f"{comparison.worst_decile[name]:.2f}",
            f"{comparison.microseconds[name]:.3g}",
            _some(comparison.pulls[name]),
        )
    return shown


def _caption(comparison: "Comparison") -> str:
    parts = []
    gains = comparison.gains.values()
    if gains:
        parts.append(f"intervals hold together with probability {comparison.confidence:.4g}")
    if comparison.to_precision is not None:
        widest = max(gain.half_width for gain in gains)
        parts.append(f"wanted ± {comparison.to_precision:.3g}, reached ± {widest:.3g}")
    if comparison.bound is not None:
        parts.append(f"no policy can go below the {_bound_name(comparison.bound)}")
    return "; ".join(parts)


def _bound_name(bound: RegretBound) -> str:
    return "exact optimum" if bound.kind == "optimum" else f"{bound.kind} bound"


def _gain_cells(gain: Gain) -> tuple[str, str, str, str]:
    p_value = "<.001" if gain.p_value < 0.001 else f"{gain.p_value:.3f}"
    return f"{gain.mean:.3f}", f"{gain.standard_error:.3f}", f"{gain.low:.3f} to {gain.high:.3f}", p_value


def _bound_cells(bound: RegretBound) -> tuple[str, str]:
    return f"{bound.regret:.3f}", f"{bound.standard_error:.3f}" if bound.episodes else "exact"


def _percent(level: float) -> str:
    return "median" if level == 0.5 else f"{100 * level:.0f}%"


def _some(pulls: FloatArray | None) -> str:
    if pulls is None:
        return ""
    return " ".join([f"{pull:.1f}" for pull in pulls[:_SHOWN_ARMS]] + ["…"] * (len(pulls) > _SHOWN_ARMS))


def rows(comparison: "Comparison") -> list[dict[str, Any]]:
    """A row for each policy. The reference has no gain; every row has the bound."""
    gains, bound = comparison.gains, comparison.bound
    found = []
    for name in comparison.names:
        gain = gains.get(name)
        pulls = comparison.pulls[name]
        found.append(
            {
                "policy": name,
                "regret": comparison.regret[name],
                "standard_error": comparison.standard_error[name],
                "reference": comparison.reference,
                **{f"gain_{field}": getattr(gain, field, None) for field in Gain._fields},
                **{
                    f"quantile_{100 * level:.0f}": float(value)
                    for level, value in zip(QUANTILES, comparison.regret_quantiles[name], strict=True)
                },
                "worst_decile": comparison.worst_decile[name],
                "microseconds": comparison.microseconds[name],
                **{f"bound_{field}": getattr(bound, field, None) for field in ("kind", "regret", "standard_error")},
                "horizon": comparison.horizon,
                "episodes": comparison.episode_count,
                "seed": comparison.seed,
                **{f"pulls_{arm}": float(pull) for arm, pull in enumerate(() if pulls is None else pulls)},
            }
        )
    return found


def csv_text(records: list[dict[str, Any]]) -> str:
    """Records of the same keys as CSV; floats keep every bit, None is an empty field.

    >>> print(csv_text([{"policy": "a", "regret": 0.1, "gain": None}]), end="")
    policy,regret,gain
    a,0.1,
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, records[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def episodes_csv(comparison: "Comparison") -> str:
    """The regret of every episode, a column for each policy."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["episode", *comparison.names])
    regrets = np.stack([result.regret for result in comparison.episodes.values()], axis=1)
    writer.writerows([episode, *row] for episode, row in enumerate(regrets.tolist()))
    return text.getvalue()


def data(comparison: "Comparison") -> dict[str, Any]:
    """All but the single episodes, as plain data."""
    gains = comparison.gains
    return {
        "horizon": comparison.horizon,
        "episodes": comparison.episode_count,
        "seed": comparison.seed,
        "reference": comparison.reference,
        "confidence": comparison.confidence,
        "to_precision": comparison.to_precision,
        "bound": None if comparison.bound is None else comparison.bound._asdict(),
        "policies": {
            name: {
                "regret": comparison.regret[name],
                "standard_error": comparison.standard_error[name],
                "gain": gains[name]._asdict() if name in gains else None,
                "quantiles": dict(zip(map(str, QUANTILES), comparison.regret_quantiles[name].tolist(), strict=True)),
                "worst_decile": comparison.worst_decile[name],
                "microseconds": comparison.microseconds[name],
                "pulls": None if result.pulls is None else result.pulls.tolist(),
                "regret_over_time": result.regret_over_time.tolist(),
            }
            for name, result in comparison.episodes.items()
        },
    }


def latex(comparison: "Comparison") -> str:
    """A `tabular` with the rules of booktabs; what made it is in a comment."""
    gains, bound = comparison.gains, comparison.bound
    lines = [
        f"% tsgrad {version('tsgrad')}: {comparison.episode_count} common episodes of {comparison.horizon} steps,"
        f" seed {comparison.seed}; intervals hold together with probability {comparison.confidence:.4g}",
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        rf"policy & regret & less than {escaped(comparison.reference)} & interval & worst 10\% \\",
        r"\midrule",
    ]
    for name in comparison.names:
        gain = gains.get(name)
        cells = [
            escaped(name),
            f"${comparison.regret[name]:.2f}$ (${comparison.standard_error[name]:.2f}$)",
            "" if gain is None else f"${gain.mean:.2f}$ (${gain.standard_error:.2f}$)",
            "" if gain is None else f"$[{gain.low:.2f}, {gain.high:.2f}]$",
            f"${comparison.worst_decile[name]:.2f}$",
        ]
        lines.append(" & ".join(cells) + r" \\")
    if bound is not None:
        error = f" (${bound.standard_error:.2f}$)" if bound.episodes else ""
        lines += [r"\midrule", rf"{_bound_name(bound)} & ${bound.regret:.2f}${error} & & & \\"]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def escaped(text: str) -> str:
    r"""Text that LaTeX shows as it is.

    >>> print(escaped("runs/a_b"))
    runs/a\_b
    """
    return "".join(_LATEX_SPECIAL.get(character, character) for character in text)
