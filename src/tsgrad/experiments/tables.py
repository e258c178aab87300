"""The table of a setting as in the paper, with the printed values beside: for terminals, Markdown, LaTeX and CSV."""

import csv
import io
from typing import NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from tsgrad.experiments.parts import SELECTED
from tsgrad.experiments.results import TRAINED, Results, Row

HEADERS = ("algorithm", "metric", "baseline", "regret (s.e.)", "paper (s.e.)", "z", "", "selected (s.e.)", "z", "")
REGRET, SELECTED_REGRET = 3, 7  # columns
NONE = "--"
TEXT_COLUMNS = {0, 1, 2, 6, 9}
CAPTION = (
    "z: difference from the paper in combined standard errors; within 2 it is the same. Trained rows are the policy at "
    "the end of training, as in the paper, and beside it the one selected on validation episodes."
)


class Line(NamedTuple):
    """One line of the table; `strong` is the column that has the best regret of all, if it is in this line."""

    cells: tuple[str, ...]
    strong: int | None
    starts_group: bool


def lines(results: Results) -> list[Line]:
    """The table line by line: trained policies, our recipe, rivals."""
    listed, group = [], None
    for row in results.rows:
        if row.policy == "selected":
            continue
        beside = results.row(row.name + SELECTED) if row.policy == "last" else None
        cells = (
            row.algorithm,
            row.metric or NONE,
            row.baseline or NONE,
            _with_error(row.regret, row.standard_error),
            _with_error(row.printed, row.printed_standard_error),
            *_judged(row),
            *(
                ("", "", "")
                if beside is None
                else (_with_error(beside.regret, beside.standard_error), *_judged(beside))
            ),
        )
        strong = {row.name: REGRET, row.name + SELECTED: SELECTED_REGRET}.get(results.best.name)
        listed.append(Line(cells, strong, starts_group=row.group != group))
        group = row.group
    return listed


def terminal_table(results: Results) -> Table:
    """For a terminal of 80 columns: without the standard errors and z-scores of selected policies."""
    title = f"{results.title}: regret, {results.evaluation_episodes:,} common episodes"
    table = Table(
        title=title, caption=CAPTION, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for header in ("algorithm", "regret (s.e.)", "paper (s.e.)", "z", "", "selected", ""):
        numbers = header not in {"algorithm", ""}
        table.add_column(header, justify="right" if numbers else "left", no_wrap=header != "algorithm")
    for line in lines(results):
        if line.starts_group and table.row_count:
            table.add_section()
        algorithm, metric, baseline, regret, paper, z, verdict, selected, _, judged = line.cells
        table.add_row(
            f"Trained {metric}/{baseline}" if algorithm == TRAINED else algorithm,
            Text(regret, style="bold" if line.strong == REGRET else ""),
            paper,
            z,
            verdict,
            Text(selected.partition(" ")[0], style="bold" if line.strong == SELECTED_REGRET else ""),
            judged,
        )
    return table


def markdown_table(results: Results) -> str:
    """For a README."""
    rule = ["---" if column in TEXT_COLUMNS else "---:" for column in range(len(HEADERS))]
    rows = [
        [f"**{cell}**" if column == line.strong else cell for column, cell in enumerate(line.cells)]
        for line in lines(results)
    ]
    body = "\n".join("| " + " | ".join(cells) + " |" for cells in (HEADERS, rule, *rows))
    return f"{body}\n\n{results.title}, {results.evaluation_episodes:,} common episodes. {CAPTION}\n"


def latex_table(results: Results) -> str:
    """For a paper; it needs the package booktabs."""
    body = []
    for line in lines(results):
        if line.starts_group:
            body.append(r"\midrule")
        cells = (
            rf"\textbf{{{cell}}}" if column == line.strong else _with_minus(cell)
            for column, cell in enumerate(line.cells)
        )
        body.append(" & ".join(cells) + r" \\")
    columns = "".join("l" if column in TEXT_COLUMNS else "r" for column in range(len(HEADERS)))
    rules = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(HEADERS) + r" \\"]
    return "\n".join([f"% {results.title}. {CAPTION}", *rules, *body, r"\bottomrule", r"\end{tabular}"]) + "\n"


def csv_table(results: Results) -> str:
    """One line a policy, every digit."""
    columns = [name for name in Row.model_fields if name not in {"regret_over_time", "pulls"}]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in results.rows:
        writer.writerow(row.model_dump(include=set(columns)))
    return text.getvalue()


def _with_minus(cell: str) -> str:
    return cell.replace("-", "$-$", 1) if cell.startswith("-") and cell != NONE else cell


def _with_error(value: float | None, error: float | None) -> str:
    return "" if value is None else f"{value:.3f} ({error:.3f})"


def _judged(row: Row) -> tuple[str, str]:
    return ("", "") if row.z is None else (f"{row.z:.1f}", row.verdict or "")
