"""Tables of Markdown: lines from rows, numbers as people read them, and any results as a table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Parts = Mapping[str, Any]  # what a program wrote, by the name of the part


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    r"""Lines of Markdown.

    >>> print("\n".join(table(["case", "x"], [["a", "1"]])))
    | case | x |
    |---|---|
    | a | 1 |
    """
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *(f"| {' | '.join(row)} |" for row in rows)]


def text(value: Any) -> str:
    """One entry of a table.

    >>> text(0.123456), text(28215), text(True), text([1.0, 2.5]), text({"a": 1})
    ('0.1235', '28,215', 'yes', '1, 2.5', 'a: 1')
    """
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {text(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(text, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return (f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}").replace("-", "−")
    return "" if value is None else str(value).replace("|", "\\|")


def percent(share: float) -> str:
    """A share, with the digits that 2,000 repeats give.

    >>> percent(0.9487)
    '94.9%'
    """
    return f"{100 * share:.1f}%"


def any_table(results: Any) -> list[str]:
    r"""Results of a shape that nobody has drawn a table for: records as rows, single numbers as a list.

    >>> print("\n".join(any_table({"a": {"x": 1.0}, "b": {"x": 2.5}, "all": 3})))
    | case | x |
    |---|---|
    | a | 1 |
    | b | 2.5 |
    <BLANKLINE>
    | quantity | value |
    |---|---|
    | all | 3 |
    """
    if isinstance(results, list):
        results = {str(number): value for number, value in enumerate(results, 1)}
    if not isinstance(results, Mapping):
        return [text(results)]
    records = {key: value for key, value in results.items() if isinstance(value, Mapping)}
    singles = {key: value for key, value in results.items() if key not in records}
    columns = list(dict.fromkeys(column for record in records.values() for column in record))
    lines: list[str] = []
    if records:
        rows = [[key, *(text(record.get(column)) for column in columns)] for key, record in records.items()]
        lines += [*table(["case", *columns], rows), ""]
    if singles:
        lines += table(["quantity", "value"], [[key, text(value)] for key, value in singles.items()])
    return lines


def any_tables(parts: Parts) -> list[str]:
    """One table for each part, under its name where there are several."""
    lines = []
    for name, results in parts.items():
        lines += [f"### {name.capitalize()}", ""] if len(parts) > 1 else []
        lines += [*any_table(results), ""]
    return lines


def one_row_each(first: str, parts: Parts) -> list[str]:
    """One table for all parts, each a record of the same entries."""
    columns = list(dict.fromkeys(column for found in parts.values() for column in found))
    rows = [[name, *(text(found.get(column)) for column in columns)] for name, found in parts.items()]
    return table([first, *columns], rows)
