"""The conditions under which a policy plays: which arms there are at each step."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer

from tsgrad.arrays import Leaf
from tsgrad.checks import BadInput
from tsgrad.problems import AnyProblem, Context, FiniteArms


class Conditions(eqx.Module):
    """What a deployment adds to a problem. `available` says which arms can be played at each step: an array [T, K] of
    booleans, with at least one arm a step; left out, all arms can. The oracle chooses among the same arms.

        >>> Conditions(available=[[True, False], [False, False]])
        Traceback (most recent call last):
        tsgrad.checks.BadInput: available[1] must have an arm that can be played, got none
    """

    available: Leaf | None

    def __init__(self, *, available: Any = None) -> None:
        self.available = None if available is None else _check_available(available)

    def check(self, problem: AnyProblem, horizon: int) -> None:
        """Raises BadInput where they don't fit a problem and a horizon."""
        if self.available is None:
            return
        truth = problem.truth
        if not isinstance(truth, FiniteArms):
            raise BadInput(f"available must be left out for {type(truth).__name__}: its arms are not finitely many")
        if self.available.shape != (horizon, truth.arms):
            raise BadInput(
                f"available must have axes [T, K], here ({horizon}, {truth.arms}), got shape {self.available.shape}"
            )

    def applied(self, context: Context, t: Integer[Array, ""]) -> Context:
        """What is seen before the choice at step t, under these conditions."""
        if self.available is None:
            return context
        now = jnp.asarray(self.available)[t - 1]
        return context._replace(available=now if context.available is None else now & context.available)


ALL_ARMS = Conditions()


def _check_available(available: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
    array = np.asarray(available)
    if array.dtype != np.bool_ or array.ndim != 2 or 0 in array.shape:
        raise BadInput(f"available must be booleans with axes [T, K], got {array.dtype} of shape {array.shape}")
    empty = np.flatnonzero(~array.any(axis=1))
    if empty.size:
        raise BadInput(f"available[{empty[0]}] must have an arm that can be played, got none")
    return array
