"""Training: from a policy that starts as Thompson sampling to one that earns more."""

from tsgrad.training.begin import resume, train, train_configuration
from tsgrad.training.configuration import Configuration, checked_configuration, read_configuration, read_tables
from tsgrad.training.folder import RunFolder, add_seconds, read_seconds
from tsgrad.training.run import HistoryRow, Run, training_curve, validation_curve
from tsgrad.training.settings import TrainingSettings

__all__ = [
    "Configuration",
    "HistoryRow",
    "Run",
    "RunFolder",
    "TrainingSettings",
    "add_seconds",
    "checked_configuration",
    "read_configuration",
    "read_seconds",
    "read_tables",
    "resume",
    "train",
    "train_configuration",
    "training_curve",
    "validation_curve",
]
