"""The progress of a reproduction on a terminal: overall and of the current part, with the time left."""

from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tsgrad.experiments.parts import Part
from tsgrad.experiments.reproduction import Reproduction

MINUTES = 30 * 60.0  # parts differ in speed: the time left is judged by a long stretch


class ReproductionProgress:
    """Two bars on standard error; their totals are efforts, so that a long part counts for more."""

    def __init__(self, reproductions: Sequence[Reproduction]) -> None:
        self.bars = Progress(
            TextColumn("{task.description:<32}"),
            BarColumn(bar_width=12),  # the line must fit into 80 columns
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            speed_estimate_period=MINUTES,
        )
        every = [(one.plan.name, part) for one in reproductions for part in one.parts]
        self.efforts = {(name, part.name): part.effort for name, part in every}
        self.shares = {(name, part.name): float(part.is_done()) for name, part in every}
        self.whole = self.bars.add_task("reproducing", total=sum(self.efforts.values()))
        self.bars.update(self.whole, completed=self._done())
        self.part = self.bars.add_task("", total=1.0, visible=False)
        self.current = ""

    def __enter__(self) -> "ReproductionProgress":
        self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bars.stop()

    def update(self, setting: str, part: Part, share: float) -> None:
        """A share of a part is done."""
        self.shares[setting, part.name] = share
        self.bars.update(self.whole, completed=self._done())
        description = f"{setting}: {part.name}"
        if description != self.current:
            self.current = description
            self.bars.reset(self.part, description=description, visible=True)
        self.bars.update(self.part, completed=share)

    def _done(self) -> float:
        return sum(self.efforts[key] * share for key, share in self.shares.items())
