"""Logs as tables: CSV or Parquet files, or columns that are in memory already."""

import datetime
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tsgrad.checks import BadInput, check_choice, check_path, needs_extra

Table = dict[str, np.ndarray[Any, Any]]
# What NumPy would make a number of, silently: seconds since 1970, or the real part.
_NO_NUMBERS = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64, complex, np.complexfloating)


_PARQUET = b"PAR1"  # with which such files begin, whatever they are called


def read_log(log: str | Path | Mapping[str, Any], *, text: Collection[str | None] = ()) -> Table:
    """The columns of a log by name, each an array [rows].

    Args:
        log: a CSV or Parquet file, or a mapping from names of columns to values, such as a dictionary or a data frame.
        text: columns of a file that hold names: what looks like a number is read as it is written, such as 1.10 or 007.

    Returns:
        The columns, by name.

    Raises:
        BadInput: if there is no such file, it is no table, or two of its columns have the same name.

    >>> read_log({"arm": ["red", "blue"], "reward": [1, 0]})["reward"]
    array([1, 0])

    """
    if isinstance(log, str | Path):
        return _from_file(check_path("log", log), [name for name in text if isinstance(name, str)])
    try:
        columns = {str(name): np.asarray(log[name]) for name in log}
    except (TypeError, LookupError, ValueError):
        raise BadInput(f"log must be a CSV or Parquet file, or columns by name, got {type(log).__name__}") from None
    lengths = {len(column) if column.ndim == 1 else -1 for column in columns.values()}
    if len(lengths) != 1 or lengths & {-1, 0}:
        raise BadInput("log must have columns of the same length, and at least one row")
    return columns


def column(table: Table, name: str, option: str) -> np.ndarray[Any, Any]:
    """A column that an option names."""
    return table[check_choice(option, name, table)]


def names(table: Table, name: str, option: str) -> np.ndarray[Any, np.dtype[np.str_]]:
    """A column of names: whatever it holds, as text; nothing where it holds nothing."""
    return np.array([_name(one) for one in column(table, name, option).tolist()], np.str_)


def _is_missing(value: Any) -> bool:
    """Whether a cell holds nothing: None, what is not a number, or what can't even be compared, as pandas has it."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _name(value: Any) -> str:
    if _is_missing(value):
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    # A column of integers in which some are missing is one of floats in a data frame.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def numbers(table: Table, name: str, option: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A column of finite numbers."""
    values = column(table, name, option)
    first = next((one for one in values if not _is_missing(one)), None)
    if isinstance(first, _NO_NUMBERS):
        raise BadInput(f"{option}: column {name!r:.40} must hold numbers, got {first!s:.40}")
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"{option}: column {name!r:.40} must hold numbers, got {_not_a_number(values)!r:.40}") from None
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        raise BadInput(
            f"{option}: column {name!r:.40} must hold finite numbers, got {array[wrong[0]]} ({len(wrong)} times)"
        )
    return array


def _not_a_number(values: Any) -> str:
    """The first value that is none."""
    for value in values:
        try:
            float(value)
        except (TypeError, ValueError):
            return str(value)
    return "nothing"


def complete(table: Table, reward: str, **named: str | None) -> tuple[Table, list[str]]:
    """The rows that have a reward, and a name in every named column; and in words, how many others there are.

    Args:
        table: the log.
        reward: the column of rewards. A ledger exports those that have not come yet as empty.
        **named: columns of names, by the option that chose each; None where one was not chosen.

    """
    rows = len(column(table, reward, "reward"))
    said: list[str] = []
    for option, name in named.items():
        if name is not None:
            nameless = names(table, name, option) == ""
            if nameless.all():
                raise BadInput(f"{option}: column {name!r:.40} must hold names, got none")
            table, said = _without(table, nameless, f"have no {option}", rows, said)
    missing = np.array([_is_missing(one) for one in column(table, reward, "reward").tolist()])
    if missing.all():
        raise BadInput(f"reward: column {reward!r:.40} must hold rewards, got none")
    return _without(table, missing, "have no reward yet", rows, said)


def _without(
    table: Table, left_out: np.ndarray[Any, Any], what: str, rows: int, said: list[str]
) -> tuple[Table, list[str]]:
    """The other rows; and in words, after what was said, how many of all rows were left out."""
    if not left_out.any():
        return table, said
    kept = {name: values[~left_out] for name, values in table.items()}
    return kept, [*said, f"{left_out.sum()} of {rows} rows {what}, and are left out."]


def _from_file(path: Path, text: list[str]) -> Table:
    with needs_extra("live"):
        import pyarrow
        from pyarrow import csv, parquet

    try:
        with path.open("rb") as file:
            is_parquet = file.read(len(_PARQUET)) == _PARQUET
        if is_parquet:
            read = _named_in_text(parquet.read_table(path), text)
        else:
            read = csv.read_csv(
                path, convert_options=csv.ConvertOptions(column_types=dict.fromkeys(text, pyarrow.string()))
            )
        columns = dict(zip(read.column_names, read.columns, strict=True))
        table = {name: values.to_numpy(zero_copy_only=False) for name, values in columns.items()}
    except FileNotFoundError:
        raise BadInput(f"log {path} can't be read: there is no such file") from None
    except UnicodeDecodeError:
        raise BadInput(f"log {path} can't be read: it is not text in UTF-8") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise BadInput(f"log {path} can't be read: {str(error).splitlines()[0]:.120}") from None
    if len(table) < len(read.column_names):
        twice = next(name for name in read.column_names if read.column_names.count(name) > 1)
        raise BadInput(f"log {path} must have columns of different names, got {twice!r:.40} twice: rename one")
    if not read.num_rows:
        raise BadInput(f"log {path} holds no rows")
    return table


def _named_in_text(table: Any, text: list[str]) -> Any:
    """A table of Arrow with columns of numbers among these as text: as floats, integers would lose their last digits
    where one is missing.
    """
    import pyarrow
    from pyarrow import compute

    for position, field in enumerate(table.schema):
        if field.name in text and pyarrow.types.is_primitive(field.type):
            values = table.column(position)
            if pyarrow.types.is_floating(field.type):  # what is not a number is no name
                values = compute.if_else(compute.is_nan(values), pyarrow.scalar(None, field.type), values)
            as_text = values.cast(pyarrow.string())
            table = table.set_column(position, field.name, as_text)
    return table
