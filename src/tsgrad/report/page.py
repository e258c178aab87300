"""The page: one HTML file with everything in it, which fetches nothing and runs nothing.

Figures are part of it: SVG whose colours are the page's, so that they follow it from light to dark.
"""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from tsgrad.artefact import write_text
from tsgrad.report.contents import Picture, Report
from tsgrad.report.style import PALETTE, Width, figure_bytes

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)

TOKENS = {colour: f"var(--{name})" for name, colour in PALETTE.items()}
COLOUR = re.compile(r"#[0-9a-f]{6}\b")
REFERENCE = re.compile(r"#([\w-]+)")
CLOCK = re.compile(r"^.*\bdata-clock\b.*$", flags=re.MULTILINE)


def render(report: Report) -> str:
    """A report as HTML. The same report gives the same text; what depends on the clock is on lines of its own."""
    environment = Environment(
        loader=PackageLoader("tsgrad.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["drawing"] = _drawing
    environment.filters["anchor"] = _anchor
    environment.filters["sentence"] = _sentence
    source, _, _ = PackageLoader("tsgrad.report", "templates").get_source(environment, "page.css")
    return environment.get_template("page.html").render(report=report, css=Markup(source))


def write_page(report: Report, path: str | Path) -> None:
    """Writes `report.html`, whole."""
    write_text(path, render(report))


def without_clock(page: str) -> str:
    r"""A page without the lines that depend on the clock: what two runs of the same thing have in common.

    >>> without_clock("<p>One</p>\n<p data-clock>3 s</p>")
    '<p>One</p>\n'
    """
    return CLOCK.sub("", page)


def _drawing(picture: Picture, width: Width) -> Any:
    drawn = inline_svg(picture.draw(width), name=f"{picture.name}-{width}", alternative=picture.alternative)
    return Markup(drawn)


def _sentence(text: str) -> Any:
    """Text in which what stands between backticks is code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def inline_svg(figure: Figure, *, name: str, alternative: str) -> str:
    """A figure as an SVG element: scales with the page, says what it shows, and has no identifier but its own.

    Colours of the palette become the page's custom properties; text stays text, in the fonts of the page.
    """
    root = ElementTree.fromstring(figure_bytes(figure, "svg", text_as_text=True))
    for metadata in root.findall(f"{{{SVG}}}metadata"):
        root.remove(metadata)
    for size in ("width", "height"):
        del root.attrib[size]
    root.set("role", "img")
    root.set("aria-label", alternative)
    used = {found for element in root.iter() for value in element.attrib.values() for found in REFERENCE.findall(value)}
    for element in root.iter():
        identifier = element.attrib.pop("id", None)
        if identifier in used:
            element.set("id", f"{name}-{identifier}")
        for key, value in element.attrib.items():
            if key in ("style", "fill", "stroke"):
                value = COLOUR.sub(lambda match: TOKENS.get(match.group(), match.group()), value)
            if key in ("clip-path", "style", "fill", f"{{{XLINK}}}href"):
                value = REFERENCE.sub(
                    lambda match: f"#{name}-{match.group(1)}" if match.group(1) in used else match.group(), value
                )
            element.set(key, value)
    return ElementTree.tostring(root, encoding="unicode")
