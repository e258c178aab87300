"""Files of this library: those of the runtime, which say that this version made them."""

import functools
from importlib.metadata import version

from tsgrad_runtime import files
from tsgrad_runtime.files import (
    DAMAGED_ARCHIVE,
    TEMPORARY,
    Taken,
    read_json,
    write_text,
    write_whole,
)

__all__ = [
    "DAMAGED_ARCHIVE",
    "TEMPORARY",
    "Taken",
    "read_json",
    "write_json",
    "write_text",
    "write_whole",
]

write_json = functools.partial(files.write_json, version=version("tsgrad"))
