"""Training: from a policy that starts as Thompson sampling to one that earns more."""

from tsgrad.training.folder import RunFolder, add_seconds, read_seconds
from tsgrad.training.run import HistoryRow, Run
from tsgrad.training.settings import Configuration, TrainingSettings, read_configuration
from tsgrad.training.trainer import resume, train

__all__ = [
    "Configuration",
    "HistoryRow",
    "Run",
    "RunFolder",
    "TrainingSettings",
    "add_seconds",
    "read_configuration",
    "read_seconds",
    "resume",
    "train",
]
