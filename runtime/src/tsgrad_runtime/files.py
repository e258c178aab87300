"""Files: JSON that says what it is and which version made it, written whole or not at all, and checked on reading."""

import hashlib
import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from tsgrad_runtime.checks import BadInput, check_path

FORMAT = 1
TEMPORARY = ".half-written"  # what a killed process may leave behind
CHECKSUM = "sha256"  # of everything else in an artefact
# What NumPy's reader of archives raises on damaged ones, whichever bits were flipped.
DAMAGED_ARCHIVE = (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, KeyError, EOFError, OSError)
EDITED = "edited"  # in its place, by whoever changes a file and means it


class Taken(BadInput):
    """A file that was to be made is there already."""


def write_whole(path: str | Path, write: Callable[[IO[bytes]], object], *, new: bool = False) -> None:
    """Writes a file through `write`, beside its place, and renames it there: readers see all of it or nothing.

    With `new` the file must not be there yet: of several processes that try, one makes it and all others get `Taken`.
    """
    path = Path(path)
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}{TEMPORARY}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # less what the umask takes away
    except OSError as error:
        raise BadInput(f"{path} can't be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if new:
            _claim(temporary, path)
        else:
            os.replace(temporary, path)
    except FileExistsError:
        raise Taken(f"{path} is there already") from None
    except OSError as error:
        raise BadInput(f"{path} can't be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _claim(temporary: Path, path: Path) -> None:
    """Gives a file its name unless the name is taken; of several processes, one succeeds."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.replace(temporary, path)


def write_text(path: str | Path, text: str, *, new: bool = False) -> None:
    """Writes a file of text, whole."""
    write_whole(path, lambda file: file.write(text.encode()), new=new)


def write_json(path: str | Path, what: str, content: dict[str, Any], *, version: str, new: bool = False) -> None:
    """Writes an artefact: `what` it is, format, version of the writer, content, checksum. Floats keep every bit."""
    artefact = {"tsgrad": what, "format": FORMAT, "version": version, **content}
    write_text(path, json.dumps({**artefact, CHECKSUM: checksum(artefact)}, indent=1, allow_nan=False) + "\n", new=new)


def read_json(path: str | Path, what: str) -> dict[str, Any]:
    """Reads an artefact and checks that it is what it should be; one that says it was edited is taken as it is."""
    artefact = parsed(path)
    if not isinstance(artefact, dict) or artefact.get("tsgrad") != what:
        raise BadInput(f"{path} is not a tsgrad {what} file")
    if artefact.get("format") != FORMAT:
        raise BadInput(f"{path} has format {artefact.get('format')!r}, this version reads {FORMAT}: write it again")
    expected = artefact.pop(CHECKSUM, None)
    if expected not in (EDITED, checksum(artefact)):
        raise BadInput(
            f"{path} is damaged, or was edited: write it again, or, if the change was meant, put {EDITED!r} in place of"
            f" its {CHECKSUM}"
        )
    return artefact


def checksum(content: dict[str, Any]) -> str:
    """What tells the content of an artefact from any other."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def parsed(path: str | Path) -> Any:
    """The content of a JSON file, whatever it is."""
    try:
        return json.loads(check_path("path", path).read_text(encoding="utf-8"))
    except BadInput:
        raise
    except OSError as error:
        raise BadInput(f"{path} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise BadInput(f"{path} is not a complete JSON file: write it again") from None
