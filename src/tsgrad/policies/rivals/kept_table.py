"""Tables that take long to compute are kept on disk, in the user's cache folder."""

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import platformdirs

from tsgrad.arrays import FloatArray
from tsgrad.artefact import write_whole
from tsgrad.checks import BadInput


def kept_table(name: str, horizon: int, compute: Callable[[int], FloatArray], *, rank: int) -> FloatArray:
    """compute(horizon), or what an earlier call kept under this name for this horizon or a longer one.

    A table for a longer horizon must hold that of a shorter one as its first entries along each of its `rank` axes,
    ending where the caller's sum of indices does. A file that is missing, damaged, of another table or that can't be
    written costs time, nothing else.
    """
    path = Path(platformdirs.user_cache_dir("tsgrad")) / f"{name}.npz"
    table = _read(path, name, rank)
    if table is None or len(table) < horizon:
        table = compute(horizon)
        told = np.asarray(digest(name, table))
        with contextlib.suppress(BadInput):
            write_whole(path, lambda file: np.savez_compressed(file, table=table, sha256=told))
    return table


def digest(name: str, table: FloatArray) -> str:
    """What tells a table from any other, and from what became of it."""
    return hashlib.sha256(f"{name} {table.shape} ".encode() + np.ascontiguousarray(table).tobytes()).hexdigest()


def _read(path: Path, name: str, rank: int) -> FloatArray | None:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            table, expected = np.asarray(archive["table"], np.float64), str(archive["sha256"])
    except Exception:  # whatever a damaged archive makes of its reader
        return None
    return table if table.ndim == rank and expected == digest(name, table) else None
