"""While training goes on: its progress on a terminal or in a notebook, and Ctrl-C at a time of our choosing."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import FrameType, TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tsgrad.training.folder import State
from tsgrad.training.run import HistoryRow


def can_show_progress() -> bool:
    """Whether a bar can be renewed in place: on a terminal, and in a notebook that has widgets."""
    if Console().is_jupyter:
        return find_spec("ipywidgets") is not None
    return sys.stderr.isatty()


class TrainingProgress:
    """A progress bar on standard error; nothing at all where it is not to be shown."""

    def __init__(self, iterations: int, done: int, *, shown: bool) -> None:
        self.bar = Progress(
            TextColumn("training"),
            BarColumn(bar_width=12),  # the line must fit into 80 columns
            MofNCompleteColumn(),
            TextColumn("{task.fields[regret]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not shown,
        )
        self.task = self.bar.add_task("training", total=iterations, completed=done, regret="compiling")

    def __enter__(self) -> "TrainingProgress":
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def update(self, row: HistoryRow, state: State) -> None:
        """One more iteration is done."""
        regret = f"regret {row.regret:.2f}, best {state.best_regret:.2f}"
        self.bar.update(self.task, completed=state.iteration, regret=regret)


@contextmanager
def interruption() -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether Ctrl-C was pressed: between iterations everything that was done is accounted
    for. A second Ctrl-C interrupts at once, as usual.

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
