"""Tables that take long to compute are kept on disk, in the user's cache folder."""

import contextlib
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import platformdirs

from tsgrad.arrays import FloatArray
from tsgrad.artefact import write_whole
from tsgrad.checks import BadInput


def kept_table(name: str, horizon: int, compute: Callable[[int], FloatArray]) -> FloatArray:
    """compute(horizon), or what an earlier call kept under this name for this horizon or a longer one.

    A table for a longer horizon must hold that of a shorter one as its first entries along each axis, ending where
    the caller's sum of indices does. A file that is missing, damaged or can't be written costs time, nothing else.
    """
    path = Path(platformdirs.user_cache_dir("tsgrad")) / f"{name}.npz"
    table = _read(path)
    if table is None or len(table) < horizon:
        table = compute(horizon)
        with contextlib.suppress(BadInput):
            write_whole(path, lambda file: np.savez_compressed(file, table=table))
    return table


def _read(path: Path) -> FloatArray | None:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            table = np.asarray(archive["table"], np.float64)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    return table if table.ndim and len(set(table.shape)) == 1 and np.all(np.isfinite(table)) else None
