"""Ctrl-C: a command ends at once, says how to go on, and has exit code 130."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130


def leave(message: str = "") -> NoReturn:
    """Ends the process at once, with what was printed so far.

    Python's own shutdown would wait for threads of XLA that an interrupt left in pieces, and crash in half of the
    cases. Files are written whole or not at all, so that nothing is lost by it.
    """
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):
        cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar hides it
        sys.stderr.write(f"{cursor}{message}\n" if message else cursor)
        sys.stderr.flush()
    os._exit(INTERRUPTED)


@contextlib.contextmanager
def leaving(message: Callable[[], str] = str) -> Iterator[None]:
    """Within it, Ctrl-C leaves with a message that is made at that moment; training looks after its own Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def at_once(number: int, frame: FrameType | None) -> NoReturn:
        leave(message())

    before = signal.signal(signal.SIGINT, at_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
