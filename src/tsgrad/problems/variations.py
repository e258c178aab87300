"""Other problems like a given one: what it would be if its prior, its noise or its arms were others.

Each problem says it beside its own formulas, with `@with_strength.register` and so on; a problem of your own likewise.
"""

import functools
from typing import Any, NoReturn

import equinox as eqx
import jax
import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput


@functools.singledispatch
def with_strength(problem: Any, factor: float) -> Any:
    """The problem whose prior is worth so many times as many rewards; its means are the same."""
    _refuse(problem)


@functools.singledispatch
def with_shifted_means(problem: Any, deviations: float) -> Any:
    """The problem whose arms are all better, or worse, by so many standard deviations of the prior."""
    _refuse(problem)


@functools.singledispatch
def with_noise(problem: Any, factor: float) -> Any:
    """The problem with so many times its noise; None where rewards have none of their own."""
    return None


@functools.singledispatch
def drift_spread(problem: Any) -> FloatArray:
    """The prior's standard deviation of every arm [K], in the units in which `DriftingArms` moves it."""
    _refuse(problem)


def has_variations(problem: Any) -> bool:
    """Whether a problem says what it would be with another prior."""
    return with_strength.dispatch(type(problem)) is not with_strength.dispatch(object)


def _refuse(problem: Any) -> NoReturn:
    raise BadInput(f"problem must be a Gaussian, Bernoulli or Poisson bandit, got {type(problem).__name__}")


def check_varies(problem: Any) -> None:
    """Refuses problems that don't say what they would be with another prior."""
    if not has_variations(problem):
        _refuse(problem)


def changed(module: Any, **fields: Any) -> Any:
    """A problem or a policy with other values in some fields; they are not checked again.

    >>> from tsgrad.problems import PoissonBandit
    >>> changed(PoissonBandit(arms=2), rate=np.array([3.0, 4.0])).rate
    array([3., 4.])
    """
    names = list(fields)
    return eqx.tree_at(lambda one: [getattr(one, name) for name in names], module, list(fields.values()))


@functools.singledispatch
def with_arms_taken(module: Any, numbers: Any) -> Any:
    """A problem or a policy all of whose leaves are [K], with the arms of these numbers.

    >>> from tsgrad.problems import PoissonBandit
    >>> with_arms_taken(PoissonBandit(shape=[1.0, 2.0], rate=3.0), [0, 1, 1]).shape
    array([1., 2., 2.])
    """
    return jax.tree.map(lambda leaf: np.asarray(leaf)[numbers], module)


def root_trigamma(*parameters: FloatArray) -> FloatArray:
    """The square root of the sum of their trigamma functions: the standard deviation of the logarithm of a gamma
    variable of that shape, and of the log-odds of a beta variable.
    """
    from scipy.special import polygamma

    return np.asarray(np.sqrt(sum(polygamma(1, parameter) for parameter in parameters)))
