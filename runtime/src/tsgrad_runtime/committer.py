"""Group commit: events that come at the same time share a transaction, and each is acknowledged once it has ended."""

import asyncio
import concurrent.futures
from collections.abc import Callable
from typing import Any, TypeVar

from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.ledger import LedgerDown, Outcome

Result = TypeVar("Result")
MOST_AT_ONCE = 512
_MOST_READ = 1000  # events of others that the loop learns without a pause
MOST_WAITING = 20_000  # beyond, the ledger is as good as down


class Committer:
    """Appends events of an event loop to the ledger, and reads those of others, from a thread of its own; the state is
    renewed in the loop. What is read and what is learned from it is one turn, so that events are learned in order.
    """

    def __init__(self, experiment: Experiment, *, renewal: float = 1.0) -> None:
        self.experiment, self.renewal = experiment, renewal
        self._waiting: list[tuple[Event, asyncio.Future[Outcome]]] = []
        self._wake = asyncio.Event()
        self._turn = asyncio.Lock()
        self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._tasks: list[asyncio.Task[None]] = []
        self.down: str | None = None  # what the ledger last said, while it can't be written to

    def start(self) -> None:
        """Begins to commit, and to renew the belief and count default rewards from time to time."""
        self._tasks = [asyncio.create_task(self._commits()), asyncio.create_task(self._renewals())]

    async def stop(self) -> None:
        """Ends when what waits is committed."""
        while self._waiting:
            await asyncio.sleep(0.01)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._thread.shutdown()

    async def append(self, event: Event) -> Outcome:
        """What became of an event, once it is in the ledger; raises LedgerDown where it could not be written."""
        if len(self._waiting) >= MOST_WAITING:
            raise LedgerDown("too many events wait for the ledger")
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((event, future))
        self._wake.set()
        return await future

    async def _in_thread(self, work: Callable[..., Result], *given: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *given)

    async def _commits(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
                events = [event for event, _ in batch]
                try:
                    async with self._turn:
                        appended = await self._in_thread(self.experiment.write, events)
                        outcomes: list[Any] = list(self.experiment.learn(appended))
                    self.down = None
                except Exception as error:  # whatever it was, none of these events may be acknowledged
                    self.down = str(error) or type(error).__name__
                    outcomes = [LedgerDown(self.down)] * len(batch)
                for (_, future), outcome in zip(batch, outcomes, strict=True):
                    if future.done():  # the client went away
                        continue
                    if isinstance(outcome, LedgerDown):
                        future.set_exception(outcome)
                    else:
                        future.set_result(outcome)

    async def _renewals(self) -> None:
        while True:
            await asyncio.sleep(self.renewal)
            try:
                self.experiment.check_follows()
                if self.down is not None:  # nobody may ask again before somebody has tried
                    await self._in_thread(self.experiment.ledger.probe)
                    self.down = None
                if not self._waiting:
                    await self._catch_up()
                while late := await self._in_thread(self.experiment.overdue):
                    await asyncio.gather(*(self.append(event) for event in late))
            except Exception as error:  # whatever it was, the task must go on: nobody else renews the belief
                self.down = str(error) or type(error).__name__

    async def _catch_up(self) -> None:
        """Learns what others have appended."""
        found = _MOST_READ
        while found == _MOST_READ:
            async with self._turn:
                events = await self._in_thread(self.experiment.ledger.events, self.experiment.seen, _MOST_READ)
                self.experiment.learn_events(events)
            found = len(events)
