"""The paper's numerical section: its settings as data, and one function that makes all of its numbers again."""

from tsgrad.experiments.progress import ReproductionProgress
from tsgrad.experiments.reproduction import Reproduction
from tsgrad.experiments.results import (
    Bound,
    CurvePoint,
    NullCurves,
    PullsAt,
    Results,
    Row,
    Training,
    read_results,
    read_seconds,
    write_results,
)
from tsgrad.experiments.settings import SETTINGS, Printed, Setting, setting_named
from tsgrad.experiments.tables import terminal_table

__all__ = [
    "SETTINGS",
    "Bound",
    "CurvePoint",
    "NullCurves",
    "Printed",
    "PullsAt",
    "Reproduction",
    "ReproductionProgress",
    "Results",
    "Row",
    "Setting",
    "Training",
    "read_results",
    "read_seconds",
    "setting_named",
    "terminal_table",
    "write_results",
]
