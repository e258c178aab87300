"""The report of several settings reproduced together: each with its table and its curves, one below the other."""

from collections.abc import Sequence
from pathlib import Path

from tsgrad.evaluate.digits import decimals, fixed
from tsgrad.experiments import Results, read_results
from tsgrad.report.contents import Fact, KeyFigure, Report, Section
from tsgrad.report.reproduction_report import (
    headline,
    paper_sentences,
    paper_tables,
    reproduction_concerns,
    shown_row,
    spoken_row,
    training_pictures,
    training_sentences,
)
from tsgrad.report.words import capital, duration
from tsgrad.training import read_seconds


def overview_report(folders: Sequence[Path]) -> Report:
    """One page for all settings; each folder has a `results.json`, and a page of its own beside it."""
    found = {folder: read_results(folder / "results.json") for folder in folders}
    rows = [row for results in found.values() for row in results.rows if row.verdict is not None]
    trained = [row for row in rows if row.group == "trained"]
    rivals = [row for row in rows if row.group == "rival"]
    good = sum(row.verdict != "worse" for row in trained)
    seconds = {folder.name: sum(read_seconds(folder).values()) for folder in folders}
    first = next(iter(found.values()))
    return Report(
        title="The paper's experiments, reproduced",
        subtitle="; ".join(results.title for results in found.values()),
        headline=f"Of the trained policies, {good} of {len(trained)} rows are as good as the paper prints, or better; "
        f"of the rivals, {sum(row.verdict == 'same' for row in rivals)} of {len(rivals)} agree with it within two "
        "combined standard errors.",
        key_figures=[_key_figure(results) for results in found.values()],
        concerns=reproduction_concerns({folder.name: results for folder, results in found.items()}),
        sections=[_section(folder.name, results) for folder, results in found.items()],
        facts=[
            Fact("Settings", ", ".join(f"{folder.name} (see `{folder.name}/report.html`)" for folder in folders)),
            Fact("Engine", ", ".join(sorted({results.engine for results in found.values()}))),
            Fact("Versions", ", ".join(f"{name} {number}" for name, number in first.versions.items())),
            *(Fact(f"Time, {name}", duration(spent), clock=True) for name, spent in seconds.items() if spent),
        ],
        configuration="",
        version=first.versions["tsgrad"],
    )


def _key_figure(results: Results) -> KeyFigure:
    row, comparison = shown_row(results), results.comparison
    after, before = results.measured(row), comparison.policies[comparison.reference]
    return KeyFigure(
        results.setting,
        fixed(after.regret, decimals(after.standard_error)),
        f"{spoken_row(row)}; Thompson sampling has {fixed(before.regret, decimals(before.standard_error))}",
        strong=True,
    )


def _section(name: str, results: Results) -> Section:
    paragraphs = [headline(results), *paper_sentences(results), *training_sentences(results)]
    pictures = training_pictures(results, prefix=f"{name}-")
    return Section(capital(results.title), paragraphs, [*paper_tables(results), *pictures])
