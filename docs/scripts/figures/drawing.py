"""Where figures of the manual go: SVG in the colours of the page, which the site puts into its pages."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from tsgrad.artefact import write_text
from tsgrad.report.page import inline_svg
from tsgrad.report.style import Width

IMAGES = Path(__file__).parents[2] / "images"


def save(draw: Callable[[Width], Figure], name: str) -> None:
    """Writes a figure in two widths, for a page and for a phone; the page says in words what it shows."""
    widths: dict[str, Width] = {name: "wide", f"{name}-narrow": "narrow"}
    for drawn, width in widths.items():
        write_text(IMAGES / f"{drawn}.svg", inline_svg(draw(width), name=drawn, alternative="") + "\n")
