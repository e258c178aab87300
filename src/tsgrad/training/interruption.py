"""Ctrl-C at a time of our choosing: between iterations, where everything that was done is accounted for."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruption() -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether Ctrl-C was pressed. A second Ctrl-C interrupts at once, as usual.

    An interrupt that lands inside a compiler or a garbage collector may be lost there, or leave it in pieces. Signals
    reach the main thread only; elsewhere nothing changes.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return

    def note(number: int, frame: FrameType | None) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)
