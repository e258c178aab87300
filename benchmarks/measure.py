"""How benchmarks measure: alternating calls, the fastest of each counts, because the machine may be busy."""

import json
import re
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")


def fastest(works: Mapping[str, Callable[[], object]], repeats: int = 5) -> dict[str, float]:
    """The fastest of several runs of each piece of work, in seconds, after one to warm up."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats + 1):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    return {name: min(record[1:]) for name, record in times.items()}


def write(part: str, results: Any) -> None:
    """Writes one part of the results to a file of its own, with the command that made it."""
    command = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    content = {"part": part, "command": command, "version": version("tsgrad"), "results": results}
    RESULTS.mkdir(exist_ok=True)
    _path(part).write_text(json.dumps(content, indent=1) + "\n")


def read(part: str) -> Any:
    """Reads what `write` wrote of a part; None where there is nothing yet."""
    return json.loads(_path(part).read_text())["results"] if _path(part).exists() else None


def _path(part: str) -> Path:
    return RESULTS / f"{re.sub('[^a-z0-9]+', '-', part.lower()).strip('-')}.json"
