"""Training: from a policy that starts as Thompson sampling to one that earns more."""

from tsgrad.train.folder import RunFolder
from tsgrad.train.run import HistoryRow, Run
from tsgrad.train.settings import Configuration, TrainingSettings, read_configuration
from tsgrad.train.trainer import resume, train

__all__ = [
    "Configuration",
    "HistoryRow",
    "Run",
    "RunFolder",
    "TrainingSettings",
    "read_configuration",
    "resume",
    "train",
]
