"""Checks on what users hand in. Every message names the argument, the value received and what would be right.

Most are those of the runtime, which checks the same things.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad_runtime.checks import (
    BadInput,
    check_arms,
    check_array,
    check_choice,
    check_count,
    check_flag,
    check_name,
    check_path,
    check_share,
    check_type,
)

__all__ = [
    "BadInput",
    "TrainingStopped",
    "check_arms",
    "check_array",
    "check_choice",
    "check_count",
    "check_finite_results",
    "check_flag",
    "check_name",
    "check_path",
    "check_share",
    "check_type",
    "needs_extra",
]


@contextmanager
def needs_extra(name: str) -> Iterator[None]:
    """Around imports of packages that an extra brings: where one is missing, the error says how to get it.

    >>> with needs_extra("live"):
    ...     import no_such_package
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: no_such_package must be installed for this: pip install 'tsgrad[live]'
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        raise BadInput(f"{missing.name} must be installed for this: pip install 'tsgrad[{name}]'") from None


class TrainingStopped(ArithmeticError):
    """A gradient or a meta-parameter is no longer a finite number.

    The folder of the run keeps the last good state. The message names the iteration and the meta-parameter; a lower
    learning rate or `precision="float64"` usually helps.
    """


def check_finite_results(what: str, values: FloatArray) -> None:
    """Results of episodes, [N] first, that statistics can be made of.

    >>> check_finite_results("cost", np.array([0.0, np.nan]))
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: the cost of episode 1 is nan: use precision='float64', or check contexts and priors
    """
    wrong = np.argwhere(~np.isfinite(values))
    if wrong.size:
        raise BadInput(
            f"the {what} of episode {wrong[0][0]} is {values[tuple(wrong[0])]}: use precision='float64', or check"
            " contexts and priors"
        )
