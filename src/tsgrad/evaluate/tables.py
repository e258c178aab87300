"""Tables as text: for terminals, CSV, LaTeX, Markdown and HTML, one writer each. Cells are plain text."""

import csv
import html
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

LONGEST_WORD = 8  # letters of a name that stay together where a terminal is narrow
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # what Unicode calls control and format characters, and line separators
FORMULA = ("=", "+", "-", "@")  # with which spreadsheets let a formula begin
MINUS = re.compile(r"(?<![^\s(\[])-(?=\d)")
LATEX_SPECIAL = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


class Column(NamedTuple):
    """A heading, and whether numbers stand below it."""

    header: str
    numbers: bool = True


class Line(NamedTuple):
    """Cells in the order of the columns; the one at `strong` is in bold type."""

    cells: Sequence[str]
    strong: int | None = None
    starts_group: bool = False


def visible(text: str) -> str:
    r"""Text without the characters that move cursors, change colours or end lines.

    >>> visible("runs/\x1b[31mred\n")
    'runs/[31mred'
    """
    return "".join(character for character in str(text) if unicodedata.category(character) not in HIDDEN)


def terminal_table(title: str, columns: Sequence[Column], lines: Iterable[Line], *, caption: str = "") -> Table:
    """A table that fits a narrow terminal by breaking lines between words; numbers stay whole.

    `print_whole` prints it; where even single words don't fit, lines are longer than the terminal is wide.
    """
    listed = list(lines)
    table = Table(
        title=Text(visible(title)),
        caption=Text(visible(caption)) if caption else None,
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for place, column in enumerate(columns):
        words = [word for text in (column.header, *(line.cells[place] for line in listed)) for word in text.split()]
        longest = max((len(visible(word)) for word in words), default=1)
        table.add_column(
            Text(visible(column.header)),
            justify="right" if column.numbers else "left",
            overflow="fold",
            min_width=longest if column.numbers else min(longest, LONGEST_WORD),
        )
    for line in listed:
        if line.starts_group and table.row_count:
            table.add_section()
        cells = (
            Text(visible(cell), style="bold" if place == line.strong else "") for place, cell in enumerate(line.cells)
        )
        table.add_row(*cells)
    return table


def print_whole(*shown: RenderableType, console: Console | None = None) -> None:
    """Prints tables so that nothing is cut off, however narrow the terminal."""
    for one in shown:
        (console or Console()).print(one, crop=False)


def as_text(*shown: RenderableType, width: int = 110) -> str:
    """Tables as they look on a terminal of that width, without colours."""
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        print_whole(*shown, console=console)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    r"""Records of the same keys as CSV; floats keep every bit, None is an empty field.

    Text that a spreadsheet would take for a formula gets an apostrophe in front, and control characters are left out.

        >>> print(csv_text([{"policy": "=a\r", "regret": -0.1, "gain": None}]), end="")
        policy,regret,gain
        '=a,-0.1,
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_harmless, records[0]))
    writer.writerows(map(_harmless, record.values()) for record in records)
    return text.getvalue()


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    text = visible(cell)
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text


def latex_text(columns: Sequence[Column], lines: Iterable[Line], *, comment: str) -> str:
    """A `tabular` with the rules of booktabs, below a comment."""
    body: list[str] = []
    for line in lines:
        cells = [escaped(cell) for cell in line.cells]
        for place, column in enumerate(columns):
            cells[place] = MINUS.sub("$-$", cells[place]) if column.numbers else cells[place]
        if line.strong is not None:
            cells[line.strong] = rf"\textbf{{{cells[line.strong]}}}"
        if cells[0].startswith(("[", "*")):  # after the end of a line, LaTeX would take them for an argument
            cells[0] = "{}" + cells[0]
        body += [r"\midrule"] * (line.starts_group and bool(body)) + [" & ".join(cells) + r" \\"]
    head = " & ".join(escaped(column.header) for column in columns) + r" \\"
    kinds = "".join("r" if column.numbers else "l" for column in columns)
    opening = [f"% {visible(comment)}", rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", head, r"\midrule"]
    return "\n".join([*opening, *body, r"\bottomrule", r"\end{tabular}", ""])


def escaped(text: str) -> str:
    r"""Text that LaTeX shows as it is.

    >>> print(escaped("runs/a_b"))
    runs/a\_b
    """
    return "".join(LATEX_SPECIAL.get(character, character) for character in visible(text))


def markdown_text(columns: Sequence[Column], lines: Iterable[Line]) -> str:
    """A table for a README."""
    rule = ["---:" if column.numbers else "---" for column in columns]
    rows = [
        [f"**{cell}**" if place == line.strong else cell for place, cell in enumerate(line.cells)] for line in lines
    ]
    listed = ([column.header for column in columns], rule, *rows)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in listed) + "\n"


def html_text(title: str, columns: Sequence[Column], lines: Iterable[Line], *, caption: str = "") -> str:
    """A table for a notebook; its style is the notebook's.

    >>> html_text("Two", [Column("policy", numbers=False)], [Line(["a<b"])])
    '<table><caption>Two</caption><thead><tr><th style="text-align: left">policy</th></tr></thead><tbody><tr><td style="text-align: left">a&lt;b</td></tr></tbody></table>'
    """  # noqa: E501
    sides = [f' style="text-align: {"right" if column.numbers else "left"}"' for column in columns]

    def row(tag: str, cells: Sequence[str]) -> str:
        shown = (html.escape(visible(cell)) for cell in cells)
        return f"<tr>{''.join(f'<{tag}{side}>{cell}</{tag}>' for side, cell in zip(sides, shown, strict=True))}</tr>"

    body = "".join(row("td", line.cells) for line in lines)
    below = f"<p><small>{html.escape(visible(caption))}</small></p>" if caption else ""
    head = row("th", [column.header for column in columns])
    name = html.escape(visible(title))
    return f"<table><caption>{name}</caption><thead>{head}</thead><tbody>{body}</tbody></table>{below}"
