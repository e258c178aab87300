"""The paper's numerical section: its settings as data, and one function that makes all of its numbers again."""

from tsgrad.experiments.reproduction import Reproduction, ReproductionProgress
from tsgrad.experiments.results import (
    CurvePoint,
    NullCurves,
    PullsAt,
    Results,
    Row,
    Training,
    read_results,
    write_results,
)
from tsgrad.experiments.rivals import Rivals, applicable_rivals
from tsgrad.experiments.settings import SETTINGS, Printed, Setting, setting_named
from tsgrad.experiments.tables import algorithm, setting_table

__all__ = [
    "SETTINGS",
    "CurvePoint",
    "NullCurves",
    "Printed",
    "PullsAt",
    "Reproduction",
    "ReproductionProgress",
    "Results",
    "Rivals",
    "Row",
    "Setting",
    "Training",
    "algorithm",
    "applicable_rivals",
    "read_results",
    "setting_named",
    "setting_table",
    "write_results",
]
