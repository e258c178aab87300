"""Files: JSON that says what it is and which version made it, written whole or not at all."""

import json
import os
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from tsgrad.checks import BadInput

FORMAT = 1
TEMPORARY = ".half-written"  # what a killed process may leave behind


def write_whole(path: str | Path, write: Callable[[IO[bytes]], object]) -> None:
    """Writes a file through `write`, beside its place, and renames it there: readers see all of it or nothing."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=TEMPORARY)
    except OSError as error:
        raise BadInput(f"{path} can't be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise BadInput(f"{path} can't be written: {error.strerror}") from None
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Writes a file of text, whole."""
    write_whole(path, lambda file: file.write(text.encode()))


def write_json(path: str | Path, what: str, content: dict[str, Any]) -> None:
    """Writes an artefact: `what` it is, format, version, content. Floats keep every bit."""
    artefact = {"tsgrad": what, "format": FORMAT, "version": version("tsgrad"), **content}
    text = json.dumps(artefact, indent=1, allow_nan=False) + "\n"
    write_text(path, text)


def read_json(path: str | Path, what: str) -> dict[str, Any]:
    """Reads an artefact and checks that it is what it should be."""
    try:
        artefact = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path} can't be read: {error.strerror}") from None
    except ValueError:
        raise BadInput(f"{path} is not a complete JSON file: write it again") from None
    if not isinstance(artefact, dict) or artefact.get("tsgrad") != what:
        raise BadInput(f"{path} is not a tsgrad {what} file")
    if artefact.get("format") != FORMAT:
        raise BadInput(f"{path} has format {artefact.get('format')!r}, this version reads {FORMAT}: write it again")
    return artefact
