"""The report of a sweep, from its folder: what training gains over the axes."""

import itertools
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tsgrad.evaluate.digits import common_decimals, fixed, interval
from tsgrad.experiments import Sweep, SweepRow, read_sweep
from tsgrad.report import sweep_charts
from tsgrad.report.concerns import no_gain, still_falling
from tsgrad.report.contents import Concern, Fact, KeyFigure, Picture, Report, Section, Table, TableRow
from tsgrad.report.run_report import software
from tsgrad.training import RunFolder, validation_curve

MOST_PANELS = 6
MOST_NAMED = 6


def sweep_report(folder: str | Path) -> Report:
    """One page for a finished sweep."""
    folder = Path(folder)
    found = read_sweep(folder)
    best = max(found.rows, key=lambda row: row.share)
    least = min(found.rows, key=lambda row: row.share)
    improved = sum(row.improved for row in found.rows)
    return Report(
        title="What training gains over " + _listed([found.spoken(field) for field in found.axes]),
        subtitle=f"{len(found.rows)} trainings, one for every combination of values",
        headline=f"Training beats its start in {improved} of {len(found.rows)} runs; it takes off from "
        f"{fixed(100 * least.share, 0)}% to {fixed(100 * best.share, 0)}% of the start's regret.",
        key_figures=[
            _key_figure("largest gain", found, best, strong=True),
            _key_figure("smallest gain", found, least),
        ],
        concerns=_concerns(folder, found),
        sections=[Section("How the gain depends on them", _sentences(found), _pictures(found)), _every_run(found)],
        facts=[
            *(Fact(field, ", ".join(str(value) for value in values)) for field, values in found.axes.items()),
            Fact("Runs", "runs/, each a folder with a policy to deploy; tsgrad report makes a page of any"),
            Fact("Tables", "table.csv, table.parquet"),
            Fact("Versions", software()),
        ],
        configuration=(folder / "sweep.toml").read_text(encoding="utf-8"),
        version=version("tsgrad"),
        all_clear="None. Every gain is beyond chance.",
    )


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _where(found: Sweep, values: dict[str, Any]) -> str:
    return ", ".join(f"{found.spoken(field)} {value}" for field, value in values.items())


def _key_figure(label: str, found: Sweep, row: SweepRow, *, strong: bool = False) -> KeyFigure:
    return KeyFigure(label, f"{fixed(100 * row.share, 0)}%", f"at {_where(found, row.values)}", strong=strong)


def _sentences(found: Sweep) -> list[str]:
    drawn = list(found.axes)[:2]
    text = (
        "The gain is how much less regret the trained policy has than the one that training started from, on fresh "
        "episodes common to both, as a share of the latter's regret."
    )
    if len(found.axes) > 2:
        others = [found.spoken(field) for field in list(found.axes)[2:]]
        text += f" Each panel is for one value of {_listed(others)}."
    if _panel_count(found) > MOST_PANELS:
        text += f" The first {MOST_PANELS} of {_panel_count(found)} are drawn; the table has all."
    order = f"The first two axes of the sweep, {_listed([found.spoken(field) for field in drawn])}, are drawn; "
    return [text] if len(found.axes) < 3 else [text, f"{order}another order of axes draws others."]


def _panel_count(found: Sweep) -> int:
    count = 1
    for values in list(found.axes.values())[2:]:
        count *= len(values)
    return count


def _grids(found: Sweep) -> dict[str, sweep_charts.Grid]:
    """The runs of each panel by the values of the first two axes; None stands for a second axis that is not there."""
    fields = list(found.axes)
    panels = itertools.islice(itertools.product(*(found.axes[field] for field in fields[2:])), MOST_PANELS)
    grids: dict[str, sweep_charts.Grid] = {}
    for panel in panels:
        fixed_values = dict(zip(fields[2:], panel, strict=True))
        grids[_where(found, fixed_values)] = {
            (row.values[fields[0]], row.values[fields[1]] if len(fields) > 1 else None): sweep_charts.Point(
                100 * row.share, 100 * row.share_standard_error, row.improved
            )
            for row in found.rows
            if all(row.values[field] == value for field, value in fixed_values.items())
        }
    return grids


def _pictures(found: Sweep) -> list[Picture]:
    fields, grids = list(found.axes), _grids(found)
    first = (found.spoken(fields[0]), found.axes[fields[0]])
    second: tuple[str, list[Any]] = (
        (found.spoken(fields[1]), found.axes[fields[1]]) if len(fields) > 1 else ("", [None])
    )
    by = f", a line for each value of {second[0]}" if len(fields) > 1 else ""
    lines = Picture(
        name="gain-lines",
        caption=f"Gain along {first[0]} with 95% confidence intervals{by}.",
        alternative=f"Lines of the gain along {first[0]}{by}; the table below has the numbers.",
        draw=lambda width: sweep_charts.gain_lines(grids, along=first, by=second, width=width),
    )
    if len(fields) == 1:
        return [lines]
    cells = Picture(
        name="gain-heat-map",
        caption=f"Gain over {first[0]} and {second[0]}, as a share of the start's regret. Dashed: not beyond chance.",
        alternative=f"Heat map of the gain over {first[0]} and {second[0]}; the table below has the numbers.",
        draw=lambda width: sweep_charts.heat_map(grids, across=first, up=second, width=width),
    )
    return [cells, lines]


def _every_run(found: Sweep) -> Section:
    digits = common_decimals([row.gain_standard_error for row in found.rows])
    rows = [
        TableRow(
            [
                row.run,
                *(str(value) for value in row.values.values()),
                fixed(row.start_regret, digits),
                fixed(row.start_regret - row.gain if row.improved else row.start_regret, digits),
                interval(row.gain, row.gain_standard_error),
                f"{fixed(100 * row.share, 1)}%",
            ]
        )
        for row in found.rows
    ]
    columns = ["run", *(found.spoken(field) for field in found.axes), "start", "trained", "gain, 95%", "share"]
    note = "start, trained: regret before and after; where nothing was gained beyond chance, the start is handed back."
    return Section("Every run", [], [Table("Regret and gain of every run", columns, rows, note)])


def _concerns(folder: Path, found: Sweep) -> list[Concern]:
    """What is to be said of several runs, once, with the runs that it holds for."""
    runs: dict[str, list[str]] = {}
    for row in found.rows:
        history = RunFolder(folder / row.run).run().history
        checks = [regret for _, regret in validation_curve(history)]
        for concern in (*no_gain(row.gain, row.gain_standard_error), *still_falling(checks)):
            runs.setdefault(concern.title, []).append(row.run)
    return [
        Concern(title, f"In {len(names)} of {len(found.rows)} runs: {_few(names)}.") for title, names in runs.items()
    ]


def _few(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(f"`{name}`" for name in names[:MOST_NAMED]) + more
