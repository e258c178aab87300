"""Reproducing a setting: part after part, each once; then what was found as one record and as tables."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from tsgrad.artefact import write_whole
from tsgrad.experiments.assembly import assemble
from tsgrad.experiments.parts import Part, parts
from tsgrad.experiments.plan import Plan, claim_folder
from tsgrad.experiments.results import Results, read_seconds, write_results
from tsgrad.experiments.tables import csv_table, latex_table, markdown_table

Watch = Callable[[str, Part, float], object]  # told of setting, part, and the share of it that is done


class Reproduction:
    """A setting in its folder: what is to be done, and what is done already.

    Whatever stops it, all that was finished stays, and another object on the same folder goes on from there, to the
    same files. Only `timing.json` has to do with the clock.
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
            write_whole(self.folder / name, lambda file, text=text: file.write(text.encode()))  # type: ignore[misc]
        return results

    def _timed(self, part: Part, watch: Watch) -> None:
        """Does a part; what it takes is added to what it took before it was stopped."""
        watch(self.plan.name, part, 0.0)
        start = time.monotonic()
        try:
            part.work(lambda share: watch(self.plan.name, part, share))
        finally:
            seconds = read_seconds(self.folder)
            seconds[part.name] = round(seconds.get(part.name, 0.0) + time.monotonic() - start, 2)
            text = json.dumps(seconds, indent=1) + "\n"
            write_whole(self.folder / "timing.json", lambda file: file.write(text.encode()))
