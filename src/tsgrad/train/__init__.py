"""Training: from a policy that starts as Thompson sampling to one that earns more."""

from tsgrad.train.run import HistoryRow, Run
from tsgrad.train.settings import Configuration, TrainingSettings, read_configuration
from tsgrad.train.trainer import TrainingStopped, resume, train

__all__ = [
    "Configuration",
    "HistoryRow",
    "Run",
    "TrainingSettings",
    "TrainingStopped",
    "read_configuration",
    "resume",
    "train",
]
