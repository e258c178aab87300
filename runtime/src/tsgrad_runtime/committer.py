"""Group commit: events that come at the same time share a transaction, and each is acknowledged once it has ended."""

import asyncio
import collections
import concurrent.futures
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tsgrad_runtime.database import LedgerDown
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.ledger import Outcome

Result = TypeVar("Result")
_Entry = tuple[Sequence[Event], asyncio.Future[list[Outcome]]]  # of one request, with who waits for it
MOST_AT_ONCE = 512  # events of several requests that share a transaction; those of one are never torn apart
_MOST_READ = 1000  # events of others that the loop learns without a pause
MOST_WAITING = 20_000  # beyond, the ledger is as good as down


class Committer:
    """Appends events of an event loop to the ledger, and reads those of others, from a thread of its own; the state is
    renewed in the loop. What is read and what is learned from it is one turn, so that events are learned in order.
    """

    def __init__(self, experiment: Experiment, *, renewal: float = 1.0) -> None:
        self.experiment, self.renewal = experiment, renewal
        self._waiting: collections.deque[_Entry] = collections.deque()
        self._events_waiting = 0
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

    async def append(self, *events: Event) -> list[Outcome]:
        """What became of events, once all of them are in the ledger, in one transaction; raises LedgerDown where they
        could not be written, and none of them is there.
        """
        if self._events_waiting >= MOST_WAITING:
            raise LedgerDown("too many events wait for the ledger")
        future: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self._waiting.append((events, future))
        self._events_waiting += len(events)
        self._wake.set()
        return await future

    def _taken(self) -> list[_Entry]:
        """What goes into the next transaction."""
        taken: list[_Entry] = []
        count = 0
        while self._waiting and (not taken or count + len(self._waiting[0][0]) <= MOST_AT_ONCE):
            taken.append(self._waiting.popleft())
            count += len(taken[-1][0])
        self._events_waiting -= count
        return taken

    async def _in_thread(self, work: Callable[..., Result], *given: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *given)

    async def _commits(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                batch = self._taken()
                failed: str | None = None
                try:
                    async with self._turn:
                        appended = await self._in_thread(
                            self.experiment.write, [one for some, _ in batch for one in some]
                        )
                        outcomes = iter(self.experiment.learn(appended))
                except Exception as error:  # whatever it was, none of these events may be acknowledged
                    failed = str(error) or type(error).__name__
                self.down = failed
                for events, future in batch:
                    own = [] if failed else list(itertools.islice(outcomes, len(events)))
                    if future.done():  # the client went away
                        continue
                    if failed:
                        future.set_exception(LedgerDown(failed))
                    else:
                        future.set_result(own)

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
                    await self.append(*late)
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
