"""Progress of training on a terminal: regret so far, and time left."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tsgrad.training.folder import State
from tsgrad.training.run import HistoryRow


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
