"""Reproducing a setting: part after part, each once; then what was found as one record and as tables."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tsgrad.artefact import write_text
from tsgrad.experiments.assembly import assemble
from tsgrad.experiments.parts import Chain, Part, chains, do_chain, parts
from tsgrad.experiments.plan import Plan, claim_folder
from tsgrad.experiments.results import Results, write_results
from tsgrad.experiments.tables import csv_table, latex_table, markdown_table
from tsgrad.simulation import Workers
from tsgrad.training import add_seconds

Watch = Callable[[str, Part, float], object]  # told of setting, part, and the share of it that is done


class Reproduction:
    """A setting in its folder: what is to be done, and what is done already.

    If it is stopped, finished parts stay, and another object on the same folder continues, to the same files. Only
    `timing.json` depends on the clock.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        setting: str,
        fraction: float | None = None,
        seed: int | None = None,
        resume: bool = False,
    ) -> None:
        self.folder = Path(folder)
        self.plan: Plan = claim_folder(self.folder, name=setting, fraction=fraction, seed=seed, resume=resume)
        self.parts = parts(self.plan, self.folder)

    def run(self, watch: Watch = lambda setting, part, share: None) -> Results:
        """Does what is left to do, and writes `results.json` and the tables."""
        for part in self.parts:
            if not part.is_done():
                self._timed(part, watch)
            watch(self.plan.name, part, 1.0)
        results = assemble(self.plan, self.folder)
        write_results(self.folder / "results.json", results)
        for name, text in (
            ("table.csv", csv_table(results)),
            ("table.md", markdown_table(results)),
            ("table.tex", latex_table(results)),
        ):
            write_text(self.folder / name, text)
        return results

    def _timed(self, part: Part, watch: Watch) -> None:
        """Does a part; what it takes is added to what it took before it was stopped."""
        watch(self.plan.name, part, 0.0)
        start = time.monotonic()
        try:
            part.work(lambda share: watch(self.plan.name, part, share))
        finally:
            add_seconds(self.folder, part.name, time.monotonic() - start)


def do_apart(
    reproductions: Sequence[Reproduction], workers: Workers, watch: Watch = lambda setting, part, share: None
) -> None:
    """Lets workers do the parts of all settings side by side, the longest first.

    What is left is to call `run` of each, which finds all of its parts done.
    """
    by_name = {(one.plan.name, part.name): part for one in reproductions for part in one.parts}

    def effort(chain: Chain) -> float:
        return sum(by_name[chain.plan.name, name].effort for name in chain.names)

    left = [
        chain
        for one in reproductions
        for chain in chains(one.plan, one.folder)
        if not all(by_name[chain.plan.name, name].is_done() for name in chain.names)
    ]
    left.sort(key=effort, reverse=True)
    for place, seconds in workers.each(do_chain, left):
        done = left[place]
        for name, spent in seconds.items():
            add_seconds(done.folder, name, spent)
        for name in done.names:
            watch(done.plan.name, by_name[done.plan.name, name], 1.0)
