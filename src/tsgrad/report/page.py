"""The page: one HTML file with everything in it, which fetches nothing and runs nothing."""

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tsgrad.artefact import write_whole
from tsgrad.report.contents import Picture, Report
from tsgrad.report.inline import inline_svg
from tsgrad.report.style import Width

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
    text = render(report)
    write_whole(path, lambda file: file.write(text.encode()))


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
