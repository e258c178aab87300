"""What estimators cost, as a figure: variance, time, and their product, a row for each pair."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tsgrad.evaluate import PairReport, VarianceStudy
from tsgrad.report.style import save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def variance_chart(study: VarianceStudy) -> "Figure":
    """Three panels of dots on logarithmic axes, the best buy on top; shapes and not colours say what is what."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.6 + 0.27 * len(study.pairs)), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    rows = range(len(study.pairs))
    values = (
        [pair.trace for pair in study.pairs],
        [pair.microseconds for pair in study.pairs],
        [study.relative_cost(pair) for pair in study.pairs],
    )
    titles = ("variance", "time", "variance x time")
    units = ("trace of the covariance, one episode", "µs per episode", "best buy = 1")
    for axes, title, unit, numbers in zip(panels, titles, units, values, strict=True):
        _dots(axes, study, numbers)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(unit, fontsize=9)
    panels[0].set_yticks(rows, [_label(study, pair) for pair in study.pairs], fontsize=9)
    panels[0].get_yticklabels()[study.pairs.index(study.best)].set_fontweight("bold")
    panels[0].set_ylim(len(study.pairs) - 0.4, -0.6)
    figure.suptitle(f"Gradient estimators, {study.horizon} steps. Best buy: {study.best.name}", fontsize=11)
    figure.legend(loc="outside lower center", ncols=3, handles=_legend(study), fontsize=9, frameon=False)
    return figure


def _dots(axes: "Axes", study: VarianceStudy, numbers: list[float]) -> None:
    axes.set_xscale("log")
    axes.grid(axis="x", color="0.85", linewidth=0.6)
    axes.grid(axis="y", color="0.85", linewidth=0.6, linestyle=":")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    best = study.pairs.index(study.best)
    axes.axhspan(best - 0.5, best + 0.5, color="0.92", linewidth=0)
    for row, (pair, number) in enumerate(zip(study.pairs, numbers, strict=True)):
        axes.plot(number, row, **_marker(pair.engine, biased=study.is_biased(pair)))


def _marker(engine: str, *, biased: bool) -> dict[str, Any]:
    face = "black" if engine == "native" else "white"
    return {
        "marker": "X" if biased else "o",
        "markersize": 7,
        "color": "black",
        "markerfacecolor": face,
        "linestyle": "",
    }


def _label(study: VarianceStudy, pair: PairReport) -> str:
    return f"{pair.name} (biased)" if study.is_biased(pair) else pair.name


def _legend(study: VarianceStudy) -> list[Any]:
    from matplotlib.lines import Line2D

    engines = sorted({pair.engine for pair in study.pairs}, reverse=True)
    entries = {f"{engine} engine": _marker(engine, biased=False) for engine in engines}
    if any(study.is_biased(pair) for pair in study.pairs):
        entries["biased"] = _marker("native", biased=True)
    return [Line2D([], [], label=label, **marker) for label, marker in entries.items()]


def write_variance_chart(study: VarianceStudy, prefix: str | Path) -> list[Path]:
    """Writes the figure as PNG, SVG and PDF, at `prefix` with their endings; the same study gives the same bytes."""
    return save_figure(variance_chart(study), Path(prefix).parent, Path(prefix).name)
