"""What a page consists of, as plain records: whoever has results fills them in, `page` sets them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from tsgrad.report.style import Width


class Fact(NamedTuple):
    """Something about what was run. One that depends on the clock is marked, so that pages can be compared."""

    label: str
    value: str
    clock: bool = False


class KeyFigure(NamedTuple):
    """A number that deserves large type."""

    label: str
    value: str
    note: str
    strong: bool = False


class Concern(NamedTuple):
    """Something that the reader should know before trusting the numbers, and what to do about it."""

    title: str
    text: str


class TableRow(NamedTuple):
    """Cells in the order of the columns."""

    cells: Sequence[str]
    strong: bool = False  # the best
    ours: bool = False  # what the report is about


class Table(NamedTuple):
    """Rows under headings; all but the first `text_columns` columns hold numbers."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[TableRow]
    note: str = ""
    text_columns: int = 1
    folded: bool = False

    @property
    def kind(self) -> str:
        """What the template sets it with."""
        return "table"


class Picture(NamedTuple):
    """A figure: how to draw it, and what it shows in words for those who can't see it."""

    name: str  # of its files
    caption: str
    alternative: str
    draw: Callable[[Width], Figure]

    @property
    def kind(self) -> str:
        """What the template sets it with."""
        return "picture"


class Definitions(NamedTuple):
    """Words and what they mean."""

    entries: Sequence[tuple[str, str]]

    @property
    def kind(self) -> str:
        """What the template sets it with."""
        return "definitions"


class Section(NamedTuple):
    """A heading, some sentences, and the tables and pictures that they are about."""

    heading: str
    paragraphs: Sequence[str]
    blocks: Sequence[Table | Picture | Definitions] = ()


class Report(NamedTuple):
    """A whole page."""

    title: str
    subtitle: str
    headline: str
    key_figures: Sequence[KeyFigure]
    concerns: Sequence[Concern]
    sections: Sequence[Section]
    facts: Sequence[Fact]
    configuration: str  # the text of the configuration file, where there is one
    version: str
    summary: Sequence[Section] = ()  # what comes before all else, for who reads nothing else
    all_clear: str = "None. Training settled, gradients stayed sound, and the gain is beyond chance."  # no concerns

    @property
    def pictures(self) -> list[Picture]:
        """Every figure of the page, in order."""
        sections = [*self.summary, *self.sections]
        return [block for section in sections for block in section.blocks if isinstance(block, Picture)]
