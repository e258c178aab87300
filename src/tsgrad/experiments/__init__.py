"""Many runs: the paper's numerical section made again, and sweeps over fields of a configuration."""

from tsgrad.experiments.plan import STABLE, Moment, policy_name
from tsgrad.experiments.reproduction import Reproduction, do_apart
from tsgrad.experiments.reproduction_progress import ReproductionProgress
from tsgrad.experiments.results import (
    Findings,
    NullCurves,
    PullsAt,
    Results,
    Row,
    Training,
    read_results,
    write_results,
)
from tsgrad.experiments.settings import SETTINGS, STEPS, Printed, Setting, setting_named
from tsgrad.experiments.sweep import Sweep, SweepRow, read_sweep, run_folders, sweep
from tsgrad.experiments.tables import algorithm, as_printed_table, setting_table

__all__ = [
    "SETTINGS",
    "STABLE",
    "STEPS",
    "Findings",
    "Moment",
    "NullCurves",
    "Printed",
    "PullsAt",
    "Reproduction",
    "ReproductionProgress",
    "Results",
    "Row",
    "Setting",
    "Sweep",
    "SweepRow",
    "Training",
    "algorithm",
    "as_printed_table",
    "do_apart",
    "policy_name",
    "read_results",
    "read_sweep",
    "run_folders",
    "setting_named",
    "setting_table",
    "sweep",
    "write_results",
]
