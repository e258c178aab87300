"""Reports on disk: the page, and its figures for papers and slides."""

from pathlib import Path
from typing import Any

from tsgrad.checks import BadInput
from tsgrad.live import Retuned
from tsgrad.report.contents import Report
from tsgrad.report.overview_report import overview_report
from tsgrad.report.page import write_page
from tsgrad.report.reproduction_report import reproduction_report
from tsgrad.report.retuning_report import retuning_report
from tsgrad.report.run_report import run_report
from tsgrad.report.style import save_figure
from tsgrad.report.sweep_report import sweep_report


def write_run_report(folder: str | Path, *, figures: bool = False, **options: Any) -> Path:
    """Writes `report.html` into the folder of a finished training run.

    Args:
        folder: of the run.
        figures: whether to write the figures too, as PNG, SVG and PDF, into `figures/`.
        options: `episodes` and `seed`: of the evaluation; `rivals`: whether to play those that apply; `robustness`:
            whether to play where the assumptions are wrong (None: if the run has no conditions); `without`: the
            folder of a run of the same problem that was trained without the conditions; `arms`: their names; `unit`:
            of a reward, such as "clicks".

    Returns:
        The path of the page.

    Raises:
        BadInput: if the folder holds no finished run.

    """
    return _write(run_report(folder, **options), folder, figures=figures)


def write_reproduction_report(folder: str | Path) -> Path:
    """Writes `report.html` and `figures/` into the folder of a setting that was reproduced.

    For a folder of several settings each gets its page, and one page tells of all of them.
    """
    folder = Path(folder)
    if (folder / "results.json").exists():
        return _write(reproduction_report(folder), folder, figures=True)
    settings = sorted(path.parent for path in folder.glob("*/results.json"))
    if not settings:
        raise BadInput(f"{folder} holds no reproduction: there is no results.json in it, nor in a folder of it")
    for setting in settings:
        write_reproduction_report(setting)
    return _write(overview_report(settings), folder, figures=False)


def write_sweep_report(folder: str | Path, *, figures: bool = False) -> Path:
    """Writes `report.html` into the folder of a finished sweep; with `figures`, also its figures into `figures/`."""
    return _write(sweep_report(folder), folder, figures=figures)


def write_retuning_report(found: Retuned, folder: str | Path) -> Path:
    """Writes `retuned.html`, what a retuning found, into the folder of the new run."""
    path = Path(folder) / "retuned.html"
    write_page(retuning_report(found), path)
    return path


def _write(report: Report, folder: str | Path, *, figures: bool) -> Path:
    if figures:
        for picture in report.pictures:
            save_figure(picture.draw("wide"), Path(folder) / "figures", picture.name)
    path = Path(folder) / "report.html"
    write_page(report, path)
    return path
