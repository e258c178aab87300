"""Reports: a run or a reproduction as figures, sentences and one page to send."""

from tsgrad.report.page import render, without_clock
from tsgrad.report.reproduction_report import reproduction_report
from tsgrad.report.run_report import run_report
from tsgrad.report.style import save_figure
from tsgrad.report.writing import (
    write_reproduction_report,
    write_retuning_report,
    write_run_report,
    write_sweep_report,
)

__all__ = [
    "render",
    "reproduction_report",
    "run_report",
    "save_figure",
    "without_clock",
    "write_reproduction_report",
    "write_retuning_report",
    "write_run_report",
    "write_sweep_report",
]
