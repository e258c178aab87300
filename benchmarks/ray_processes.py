"""Workers of Ray as processes of this machine, to be killed: those alone that this process is the ancestor of."""

import contextlib
import os
from pathlib import Path

AGENTS = (b"ray::DashboardAgent", b"ray::RuntimeEnvAgent")


def own_workers() -> list[int]:
    """Process ids of Ray's workers below this process, in order.

    Ray names them after the task that they are at; its agents, which have such names too, are no workers.
    """
    parents: dict[int, int] = {}
    titles: dict[int, bytes] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended since
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                titles[int(entry.name)] = (entry / "cmdline").read_bytes()

    def is_own(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and is_own(parents[pid]))

    return sorted(
        pid
        for pid, title in titles.items()
        if title.startswith(b"ray::") and not title.startswith(AGENTS) and is_own(pid)
    )
