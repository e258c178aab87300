"""Figures as part of a page: SVG whose colours are the page's, so that they follow it from light to dark."""

import re
from xml.etree import ElementTree

from matplotlib.figure import Figure

from tsgrad.report.style import PALETTE, figure_bytes

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)

TOKENS = {colour: f"var(--{name})" for name, colour in PALETTE.items()}
COLOUR = re.compile(r"#[0-9a-f]{6}\b")
REFERENCE = re.compile(r"#([\w-]+)")


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
