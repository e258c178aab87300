"""How figures look, and how they are saved: one style, no global state, the same bytes for the same data.

Series differ in colour (the palette of Okabe and Ito, which colour-blind people can tell apart) and in marker or dash
as well, so that greyscale is enough. A figure is drawn in two widths, for a page and for a phone, with text of the same
size in both. Lines have their names at their ends in place of a legend: nothing to look up.
"""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from scipy.optimize import isotonic_regression

from tsgrad.arrays import FloatArray
from tsgrad.artefact import write_whole

Width = Literal["wide", "narrow"]

# Names for colours: a page gives each of them a value for light and one for dark surroundings.
PALETTE = {
    "ink": "#1b1d21",
    "muted": "#63676e",
    "line": "#dcdee2",
    "paper": "#fefefe",
    "accent": "#0b62a4",
    "vermilion": "#b84300",
    "green": "#00805d",
    "purple": "#a8447f",
    "orange": "#c08002",
    "sky": "#3d94d1",
}
INK, MUTED, LINE, PAPER, ACCENT = (PALETTE[name] for name in ("ink", "muted", "line", "paper", "accent"))
# Next to the accent, which is for what a figure is about.
SERIES_COLOURS = tuple(PALETTE[name] for name in ("vermilion", "green", "purple", "orange", "sky"))
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Any, ...] = ((0, (5, 2)), (0, (1.5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (9, 2)), (0, (3, 1, 1, 1, 1, 1)))

STYLE: Any = {
    "font.family": "DejaVu Sans",  # it comes with matplotlib, so that every machine draws the same
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.facecolor": "none",
    "axes.formatter.useoffset": False,
    "figure.facecolor": "none",
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "patch.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.0,
    "svg.hashsalt": "tsgrad",
}

LABEL_HEIGHT = 11.0  # points, of text in the size of figures
DRAWN_SHARE = 0.82  # of a panel's height, what is left below its title and above its axis
INCHES: Mapping[Width, float] = {"wide": 7.2, "narrow": 3.7}

# Dates and versions of programs out of the files: the same data give the same bytes.
METADATA: Mapping[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Creator": None, "Date": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}

styled: Callable[[Any], Any] = matplotlib.rc_context(STYLE)  # decorates functions that draw


def panels(width: Width, count: int = 1, *, height: float = 2.9, columns: int = 2) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels of `height` inches: side by side where it is wide, one below the other else."""
    across = min(count, columns) if width == "wide" else 1
    down = -(-count // across)
    spacing = ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.08)
    figure = Figure(figsize=(INCHES[width], height * down), layout=spacing)
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for unused in grid[count:]:
        unused.remove()
    return figure, list(grid[:count])


class LineLabel(NamedTuple):
    """What a line is called, and the height at which it ends."""

    height: float
    text: str
    colour: str = MUTED
    strong: bool = False


def spread(heights: FloatArray, gap: float) -> FloatArray:
    """Heights at least `gap` apart, in the same order, as near to those given as can be.

    >>> print(spread(np.array([1.0, 1.1, 5.0]), 0.5))
    [0.8 1.3 5. ]
    """
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    placed = np.empty(len(heights))
    placed[order] = isotonic_regression(heights[order] - steps).x + steps
    return placed


def label_lines(axes: Axes, labels: list[LineLabel], *, panel_height: float) -> None:
    """Writes the labels to the right of a panel of `panel_height` inches, none on top of another."""
    low, high = axes.get_ylim()
    gap = LABEL_HEIGHT / (72 * panel_height * DRAWN_SHARE) * (high - low)
    places = spread(np.array([label.height for label in labels]), gap)
    beside = axes.get_yaxis_transform()
    for label, place in zip(labels, places, strict=True):
        axes.plot(
            [1.005, 1.035],
            [label.height, place],
            color=label.colour,
            linewidth=0.6,
            transform=beside,
            clip_on=False,
        )
        axes.text(
            1.045,
            float(place),
            label.text,
            color=label.colour,
            fontweight="bold" if label.strong else "normal",
            fontsize=8,
            va="center",
            transform=beside,
        )


def figure_bytes(figure: Figure, kind: Literal["png", "svg", "pdf"], *, text_as_text: bool = False) -> bytes:
    """A figure as a file of some kind; with `text_as_text` an SVG leaves its fonts to whoever shows it."""
    options = {**STYLE, "svg.fonttype": "none" if text_as_text else "path"}
    buffer = io.BytesIO()
    with matplotlib.rc_context(options):
        facecolor = "none" if text_as_text else PAPER
        figure.savefig(buffer, format=kind, dpi=200, facecolor=facecolor, metadata=METADATA[kind])
    return buffer.getvalue()


def save_figure(figure: Figure, folder: str | Path, name: str) -> list[Path]:
    """Writes a figure as PNG, SVG and PDF."""
    paths = []
    for kind in METADATA:
        content = figure_bytes(figure, kind)  # type: ignore[arg-type]
        paths.append(Path(folder) / f"{name}.{kind}")
        write_whole(paths[-1], lambda file, content=content: file.write(content))  # type: ignore[misc]
    return paths
