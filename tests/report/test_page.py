"""The page in a real browser: nothing fetched, no complaints, everything visible, at any width, in light and dark."""

import io
import re

import pytest
from PIL import Image

from tsgrad.report.style import PALETTE

PHONE, DESKTOP = 390, 1280

VISIBLE_FIGURES = """Array.from(document.querySelectorAll("figure")).map(figure =>
    Array.from(figure.querySelectorAll("svg")).map(svg => svg.getBoundingClientRect())
         .filter(box => box.width > 0 && box.height > 0).map(box => [box.width, box.height]))"""
SMALLEST_TEXT = """Math.min(...Array.from(document.querySelectorAll("figure svg text"))
    .map(text => text.getBoundingClientRect().height).filter(height => height > 0))"""
CUT_OFF = """Array.from(document.querySelectorAll("figure svg text")).map(text => [text.textContent,
    text.getBoundingClientRect(), text.closest("figure").getBoundingClientRect()])
    .filter(([_, text, figure]) => text.width > 0 && (text.right > figure.right + 1 || text.left < figure.left - 1))
    .map(([content]) => content)"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_page_in_a_browser(page, browser, width, scheme, tmp_path):
    browser.show(page, width=width, scheme=scheme)
    assert browser.complaints() == []
    assert [address for address in browser.requested() if not address.startswith("data:")] == [page.as_uri()]
    assert browser.ask(OVERFLOW) == 0
    figures = browser.ask(VISIBLE_FIGURES)
    assert len(figures) >= 4
    for shown in figures:
        assert len(shown) == 1  # the drawing for this width, and not the other
        ((drawn_width, drawn_height),) = shown
        assert drawn_width > 0.8 * min(width, 700)
        assert drawn_height > 50
    assert browser.ask(SMALLEST_TEXT) >= 9  # pixels
    assert browser.ask(CUT_OFF) == []
    picture = Image.open(io.BytesIO(browser.screenshot())).convert("L")
    (tmp_path / "page.png").write_bytes(browser.screenshot())
    assert picture.width == width
    assert picture.height > 3000
    background = picture.getpixel((3, 3))
    assert background > 240 if scheme == "light" else background < 40


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(page, browser, scheme):
    """Text 4.5 to 1, lines 3 to 1, against the background: WCAG 2.1, level AA."""
    browser.show(page, width=DESKTOP, scheme=scheme)

    def luminance(name):
        value = browser.ask(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}')").strip()
        channels = [int(value[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(name, ground):
        low, high = sorted([luminance(name), luminance(ground)])
        return (high + 0.05) / (low + 0.05)

    for ground in ("paper", "tint"):
        for name in ("ink", "muted", "accent"):
            assert contrast(name, ground) >= 4.5, (name, ground)
    for name in PALETTE.keys() - {"line", "paper"}:
        assert contrast(name, "paper") >= 3.0, name


def test_scrolling_tables_and_structure(page, browser):
    """Wide tables scroll in their own box; headings, captions and descriptions are there."""
    browser.show(page, width=320)
    assert browser.ask(OVERFLOW) == 0
    assert browser.ask("document.querySelectorAll('h1').length") == 1
    assert browser.ask("Array.from(document.querySelectorAll('table')).every(table => table.caption.textContent)")
    assert browser.ask("Array.from(document.querySelectorAll('svg')).every(svg => svg.getAttribute('aria-label'))")
    assert browser.ask("document.querySelectorAll('script, iframe, object, link[rel=stylesheet]').length") == 0
    targets = "Array.from(document.querySelectorAll('nav a')).every(a => document.querySelector(a.hash))"
    assert browser.ask(targets)
    identifiers = browser.ask("Array.from(document.querySelectorAll('[id]')).map(element => element.id)")
    assert len(identifiers) == len(set(identifiers))


def test_light_colours_are_those_of_the_figures(page):
    """In a figure all colours are the page's, and by day they are those of the figure files."""
    text = page.read_text()
    by_day = dict(re.findall(r"--(\w+): (#\w{6});", text.partition("@media")[0]))
    assert PALETTE.items() <= by_day.items()
    for drawing in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL):
        assert not re.findall(r"(?:fill|stroke): (#\w{6})", drawing)
