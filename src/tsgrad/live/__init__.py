"""From logs to a running experiment, and back: priors from logs, what a policy would have earned, ledgers as tables."""

from tsgrad.live.estimates import LogEstimate
from tsgrad.live.export import export_ledger
from tsgrad.live.fit import FittedPrior, fit_prior
from tsgrad.live.log import read_log
from tsgrad.live.off_policy import evaluate_log
from tsgrad.live.retuning import Retuned, retune
from tsgrad.live.trust import Robustness, robustness

__all__ = [
    "FittedPrior",
    "LogEstimate",
    "Retuned",
    "Robustness",
    "evaluate_log",
    "export_ledger",
    "fit_prior",
    "read_log",
    "retune",
    "robustness",
]
