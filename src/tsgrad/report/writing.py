"""Reports on disk: the page, and on request its figures for papers and slides."""

from pathlib import Path

from tsgrad.report.contents import Report
from tsgrad.report.page import write_page
from tsgrad.report.run_report import EPISODES, run_report
from tsgrad.report.style import save_figure


def write_run_report(
    folder: str | Path, *, episodes: int = EPISODES, seed: int = 0, rivals: bool = True, figures: bool = False
) -> Path:
    """Writes `report.html` into the folder of a finished training run, and with `figures` a folder of them beside."""
    return write_report(run_report(folder, episodes=episodes, seed=seed, rivals=rivals), folder, figures=figures)


def write_report(report: Report, folder: str | Path, *, figures: bool) -> Path:
    """Writes a report's page, and with `figures` every figure as PNG, SVG and PDF; gives the page's path."""
    if figures:
        for picture in report.pictures:
            save_figure(picture.draw("wide"), Path(folder) / "figures", picture.name)
    path = Path(folder) / "report.html"
    write_page(report, path)
    return path
