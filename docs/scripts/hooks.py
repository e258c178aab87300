"""What the site adds to the pages written by hand, reference, evidence and equations among them; and what it checks."""

import html
import re
import sys
from importlib.metadata import files as files_of
from pathlib import Path
from typing import Any

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

SCRIPTS = Path(__file__).parent
sys.path.insert(0, str(SCRIPTS))

from evidence import evidence_pages
from reference import public_names, reference_pages

ROOT = SCRIPTS.parents[1]
_EQUATION = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_LOADED = re.compile(r'<(?:script|img|link|iframe)[^>]*\s(?:src|href)="(?:https?:)?//[^"]*"')
_FIGURE = re.compile(r'<p><img alt="([^"]*)" src="([^"]*)\.svg" ?/?></p>')
_FORMULA = re.compile(r"<math.*?</math>", re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that come from code and from files of results."""
    changes = (ROOT / "CHANGELOG.md").read_text().replace("](docs/", "](")
    for path, text in {**reference_pages(), **evidence_pages(), "changelog.md": changes}.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Equations become MathML, which browsers show without a script; figures take the colours of the page."""

    def mathml(found: re.Match[str]) -> str:
        display = "block" if found[1] == "div" else "inline"
        return tidied(convert(html.unescape(found[2]), display=display))

    def inlined(found: re.Match[str]) -> str:
        path = (ROOT / "docs" / page.file.src_uri).parent / found[2]
        widths = {"wide": path.with_suffix(".svg"), "narrow": path.with_name(f"{path.name}-narrow.svg")}
        label = f'aria-label="{found[1]}"'
        drawings = {width: file.read_text().replace('aria-label=""', label) for width, file in widths.items()}
        return "".join(f'<div class="figure {width}">{drawing}</div>' for width, drawing in drawings.items())

    return _FIGURE.sub(inlined, _EQUATION.sub(mathml, content))


RELATIONS = {"&#x0007E;": "&#x0223C;", "&#x02AB0;": "&#x02AB0;"}  # as the converter writes them, and as they should be


def tidied(formula: str) -> str:
    """MathML in which relations have space around them and words are in one piece.

    >>> tidied('<mi>X</mi><mi>&#x0007E;</mi><mi mathvariant="normal">n</mi><mi mathvariant="normal">o</mi>')
    '<mi>X</mi><mo>&#x0223C;</mo><mi>no</mi>'
    """
    for written, relation in RELATIONS.items():
        formula = formula.replace(f"<mi>{written}</mi>", f"<mo>{relation}</mo>")
    words = r'(?:<mi mathvariant="normal">\w</mi>){2,}'
    return re.sub(words, lambda word: f"<mi>{re.sub('<[^>]*>', '', word[0])}</mi>", formula)


def on_post_build(config: Any, **_: Any) -> None:
    """Every public name is in the reference, and no page loads anything from elsewhere."""
    site = Path(config.site_dir)
    pages = {page.relative_to(site): page.read_text() for page in site.rglob("*.html")}
    anchors = {anchor for text in pages.values() for anchor in re.findall(r'id="(tsgrad[\w.]*)"', text)}
    missing = [name for name in public_names() if name not in anchors]
    if missing:
        raise PluginError(f"the reference lacks {', '.join(missing)}")
    for path, text in pages.items():
        if found := _LOADED.search(text):
            raise PluginError(f"{path} loads something from elsewhere: {found[0]}")
    formulas = "".join(formula for text in pages.values() for formula in _FORMULA.findall(text))
    _write_font(site / "assets" / "math.woff", html.unescape(re.sub("<[^>]*>", "", formulas)))


DRAWN = "\u221a\u0302\u0303\u00af"  # what a browser draws around formulas that no formula spells: roots and accents


def _write_font(path: Path, characters: str) -> None:
    """A font for formulas, which few machines have, with no more in it than the site needs."""
    (source,) = (file for file in files_of("ziamath") or () if file.name == "STIXTwoMath-Regular.ttf")
    font = TTFont(source.locate())
    # Single letters of formulas are shown in italics, which are characters of their own: from A on, and from Alpha on.
    italics = [*range(0x1D434, 0x1D468), 0x210E, *range(0x1D6E2, 0x1D71C)]
    subsetter = Subsetter(Options(layout_features=["*"]))
    subsetter.populate(text=characters + DRAWN, unicodes=italics)
    subsetter.subset(font)
    font.flavor = "woff"
    font.save(path)
