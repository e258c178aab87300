"""The table of a setting as in the paper, with the printed values beside: for terminals, Markdown, LaTeX and CSV."""

from typing import Any, NamedTuple

from rich.table import Table

from tsgrad.evaluate import comparison_formats
from tsgrad.evaluate.tables import Column, Line, csv_text, latex_text, markdown_text, terminal_table
from tsgrad.experiments.results import Findings, Results, Row, Training
from tsgrad.experiments.settings import STEPS

COLUMNS = (
    Column("algorithm", numbers=False),
    Column("metric", numbers=False),
    Column("baseline", numbers=False),
    Column("regret (s.e.)"),
    Column("paper (s.e.)"),
    Column("z"),
    Column("", numbers=False),
    Column("selected (s.e.)"),
    Column("z"),
    Column("", numbers=False),
)
REGRET, SELECTED_REGRET = 3, 7  # columns
NONE = "--"
CAPTION = (
    "z: difference from the paper in combined standard errors; within 2 it is the same. Trained rows are the policy at "
    "the end of training, as in the paper, and beside it the one selected on validation episodes. They are of the "
    f"paper's recipe with {STEPS:g} of its learning rate, one factor for all settings."
)
AS_PRINTED_CAPTION = "The same recipe with the learning rate as the paper prints it."
ALGORITHMS = {"trained": "Trained TS", "stable": "Our recipe"}


def algorithm(row: Row) -> str:
    """What tables call the policy of a row."""
    return ALGORITHMS.get(row.group, row.name)


class Entry(NamedTuple):
    """What a line of the table is about: a rival, or a training with the policies at its end and selected."""

    row: Row
    training: Training | None  # None for rivals
    selected: Row | None  # None for rivals
    starts_group: bool

    def strong(self, best: str, *, last: int, selected: int) -> int | None:
        """The column in bold, of those that have the regrets of both policies: where the best of all policies is."""
        if self.selected is not None and self.selected.name == best:
            return selected
        return last if self.row.name == best else None


def entries(results: Findings) -> list[Entry]:
    """The table entry by entry: trained policies, our recipe, rivals."""
    listed, group = [], None
    for row in results.rows:
        if row.moment == "selected":
            continue
        training = results.training(row)
        selected = None if training is None else results.row_of(training.name, "selected")
        listed.append(Entry(row, training, selected, starts_group=row.group != group))
        group = row.group
    return listed


def lines(results: Findings) -> list[Line]:
    """The table line by line."""
    listed = []
    for entry in entries(results):
        row, training, beside = entry.row, entry.training, entry.selected
        cells = (
            algorithm(row),
            NONE if training is None else training.metric,
            NONE if training is None else training.baseline,
            _regret(results, row),
            _printed(row),
            *_judged(row),
            *(("", "", "") if beside is None else (_regret(results, beside), *_judged(beside))),
        )
        strong = entry.strong(results.comparison.best, last=REGRET, selected=SELECTED_REGRET)
        listed.append(Line(cells, strong, entry.starts_group))
    return listed


def setting_table(results: Results) -> Table:
    """For a terminal: without the standard errors and z-scores of selected policies."""
    return _terminal_table(f"{results.title}: regret, {_episodes(results)}", results, CAPTION)


def as_printed_table(results: Results) -> Table:
    """The second table, of learning rates as printed, for a terminal."""
    return _terminal_table("with the learning rate as printed", results.as_printed, AS_PRINTED_CAPTION)


def _terminal_table(title: str, results: Findings, caption: str) -> Table:
    columns = [COLUMNS[place] for place in (0, 3, 4, 5, 6)] + [Column("selected"), COLUMNS[9]]
    shown = []
    for entry in entries(results):
        row, training, beside = entry.row, entry.training, entry.selected
        cells = (
            f"Trained {training.metric}/{training.baseline}" if training and row.group == "trained" else algorithm(row),
            _regret(results, row),
            _printed(row),
            *_judged(row),
            *(("", "") if beside is None else (_digits(results.measured(beside).regret), _judged(beside)[1])),
        )
        strong = entry.strong(results.comparison.best, last=1, selected=5)
        shown.append(Line(cells, strong, entry.starts_group))
    return terminal_table(title, columns, shown, caption=caption)


def markdown_table(results: Results) -> str:
    """For a README."""
    first = f"{markdown_text(COLUMNS, lines(results))}\n{results.title}, {_episodes(results)}. {CAPTION}\n"
    return f"{first}\n{markdown_text(COLUMNS, lines(results.as_printed))}\n{AS_PRINTED_CAPTION}\n"


def latex_table(results: Results) -> str:
    """For a paper; it needs the package booktabs."""
    first = latex_text(COLUMNS, lines(results), comment=f"{results.title}. {CAPTION}")
    return f"{first}\n{latex_text(COLUMNS, lines(results.as_printed), comment=AS_PRINTED_CAPTION)}"


def csv_table(results: Results) -> str:
    """One line per policy, every digit: the comparison, and what the paper prints; then those of rates as printed."""
    return csv_text(
        [
            record
            for found in (results, results.as_printed)
            for record in comparison_formats.records(
                found.comparison, {row.name: _beside(found, row) for row in found.rows}
            )
        ]
    )


def _beside(results: Findings, row: Row) -> dict[str, Any]:
    training = results.training(row)
    return {
        "group": row.group,
        "recipe": None if training is None else training.recipe,
        "training": row.training,
        "moment": row.moment,
        "printed": None if row.printed is None else row.printed.regret,
        "printed_standard_error": None if row.printed is None else row.printed.standard_error,
        "z": row.z,
        "verdict": row.verdict,
    }


def _episodes(results: Findings) -> str:
    return f"{results.comparison.episodes:,} common episodes"


def _regret(results: Findings, row: Row) -> str:
    found = results.measured(row)
    return _with_error(found.regret, found.standard_error)


def _printed(row: Row) -> str:
    return "" if row.printed is None else _with_error(row.printed.regret, row.printed.standard_error)


def _with_error(value: float, error: float) -> str:
    return f"{_digits(value)} ({_digits(error)})"


def _digits(value: float) -> str:
    return f"{value:.3f}"


def _judged(row: Row) -> tuple[str, str]:
    return ("", "") if row.z is None else (f"{row.z:.1f}", row.verdict or "")
