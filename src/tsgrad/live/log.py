"""Logs as tables: CSV or Parquet files, or columns that are in memory already."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tsgrad.checks import BadInput, check_choice, check_path, needs_extra

Table = dict[str, np.ndarray[Any, Any]]


def read_log(log: str | Path | Mapping[str, Any]) -> Table:
    """The columns of a log by name, each an array [rows].

    Args:
        log: a CSV or Parquet file, or a mapping from names of columns to values, such as a dictionary or a data frame.

    Returns:
        The columns, by name.

    Raises:
        BadInput: if there is no such file, or it is no table.

    >>> read_log({"arm": ["red", "blue"], "reward": [1, 0]})["reward"]
    array([1, 0])

    """
    if isinstance(log, str | Path):
        return _from_file(check_path("log", log))
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
    """A column of names: whatever it holds, as text."""
    values = column(table, name, option).tolist()
    return np.array([one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in values])


def numbers(table: Table, name: str, option: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A column of finite numbers."""
    values = column(table, name, option)
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"{option}: column {name!r:.40} must hold numbers, got {values[0]!r:.40}") from None
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        raise BadInput(
            f"{option}: column {name!r:.40} must hold finite numbers, row {wrong[0]} holds {array[wrong[0]]}"
        )
    return array


def with_rewards(table: Table, name: str) -> tuple[Table, int]:
    """The rows whose reward has come, and how many others there are: those that a ledger exports as empty."""
    rewards = column(table, name, "reward")
    missing = np.array([one is None or one != one for one in rewards.tolist()])
    if missing.all():
        raise BadInput(f"reward: column {name!r:.40} must hold rewards, got none")
    return {key: values[~missing] for key, values in table.items()}, int(missing.sum())


def _from_file(path: Path) -> Table:
    with needs_extra("live"):
        import pyarrow
        from pyarrow import csv, parquet

    try:
        read = parquet.read_table(path) if path.suffix == ".parquet" else csv.read_csv(path)
        columns = dict(zip(read.column_names, read.columns, strict=True))
        table = {name: values.to_numpy(zero_copy_only=False) for name, values in columns.items()}
    except FileNotFoundError:
        raise BadInput(f"log {path} can't be read: there is no such file") from None
    except UnicodeDecodeError:
        raise BadInput(f"log {path} can't be read: it is not text in UTF-8") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise BadInput(f"log {path} can't be read: {str(error).splitlines()[0]:.120}") from None
    if not read.num_rows:
        raise BadInput(f"log {path} holds no rows")
    return table
