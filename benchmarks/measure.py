"""How benchmarks measure: alternating calls, the fastest of each counts, because the machine may be busy."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")


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
    """Puts one part into the results file."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**known, part: results}, indent=1) + "\n")
