"""The paper's numerical section: its settings as data, and one function that makes all of its numbers again."""

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

__all__ = [
    "SETTINGS",
    "Bound",
    "CurvePoint",
    "NullCurves",
    "Printed",
    "PullsAt",
    "Results",
    "Row",
    "Setting",
    "Training",
    "read_results",
    "read_seconds",
    "setting_named",
    "write_results",
]
