"""While training goes on: its progress on a terminal or in a notebook, and Ctrl-C at a time of our choosing."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import FrameType, TracebackType

from rich import progress as bars
from rich.console import Console

from tsgrad.training.folder import State
from tsgrad.training.run import HistoryRow
from tsgrad.training.settings import TrainingSettings

Progress = bool | Callable[[int], object] | None
"""Whether to show a bar, or a function to tell how many iterations are done; None for a bar where one can be shown."""


def can_show_progress() -> bool:
    """Whether a bar can be renewed in place: on a terminal, and in a notebook that has widgets."""
    if Console().is_jupyter:
        return find_spec("ipywidgets") is not None
    return sys.stderr.isatty()


class TrainingProgress:
    """Tells how far a training is, its warm-up included: on standard error, to a function, or nobody.

    Steps of episodes are what takes time, so that the bar knows how long all of it will take while the first, short
    episodes are still played.
    """

    def __init__(self, trainings: list[TrainingSettings], progress: Progress) -> None:
        self.trainings = trainings  # one after another
        self.tell = progress if callable(progress) else None
        self.bar = bars.Progress(
            bars.TextColumn("training"),
            bars.BarColumn(bar_width=12),  # the line must fit into 80 columns
            bars.TextColumn("{task.fields[count]}"),
            bars.TextColumn("{task.fields[regret]}"),
            bars.TimeElapsedColumn(),
            bars.TextColumn("left"),
            bars.TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not (can_show_progress() if progress is None else progress is True),
        )
        self.task: bars.TaskID | None = None

    def __enter__(self) -> "TrainingProgress":
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def begin(self, settings: TrainingSettings, done: int) -> None:
        """One of the trainings begins, or goes on after so many iterations."""
        before = sum(_steps(training) for training in self._before(settings))
        completed = before + done * _steps(settings) // settings.most_iterations
        if self.task is None:
            total = sum(_steps(training) for training in self.trainings)
            self.task = self.bar.add_task("training", total=total, completed=completed, count="", regret="compiling")
        else:
            self.bar.update(self.task, completed=completed)

    def update(self, settings: TrainingSettings, row: HistoryRow, state: State) -> None:
        """One more iteration of one of the trainings is done."""
        assert self.task is not None
        done, regret = state.iteration, f"regret {row.regret:.2f}, best {state.best_regret:.2f}"
        self.bar.update(self.task, count=f"{done}/{settings.most_iterations}", regret=regret)
        self.begin(settings, done)
        if self.tell is not None:
            self.tell(sum(training.most_iterations for training in self._before(settings)) + done)

    def end(self, settings: TrainingSettings, done: int) -> None:
        """One of the trainings ends, after fewer iterations than it might have had."""
        assert self.task is not None
        self.begin(settings, settings.most_iterations)
        self.bar.update(self.task, count=f"{done} iterations")

    def _before(self, settings: TrainingSettings) -> list[TrainingSettings]:
        return [training for training in self.trainings if training.horizon < settings.horizon]


def _steps(settings: TrainingSettings) -> int:
    """Returns how many steps the episodes of a training have at most."""
    return settings.most_iterations * settings.episodes * settings.horizon


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
