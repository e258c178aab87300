"""Index policies: each arm has a number that depends on it alone, looked up in a table, and the largest is played."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.problems import AnyProblem, Context, Problem, TabledArms, largest
from tsgrad.registry import register
from tsgrad.streams import Noise

MOST_ENTRIES = 2**25  # of a table: 256 MB


@register("index")
class IndexPolicy(Memoryless, Policy):
    """Plays the arm with the largest posterior mean + table[arm, t - 1, cell] (+ spread[arm, t - 1, cell] * normal).

    Cells are those of the problem's tabled arms: for Gaussian arms the pulls, of which there are T; for Bernoulli arms
    n (n + 1) / 2 + successes with n the pulls, of which there are T (T + 1) / 2. An axis of arms or of time has
    length 1 where the numbers are the same for all arms, or at all times. Greedy is a single table of zeros; a
    `spread` makes the index random, with a normal of its own for each arm: with the posterior's standard deviations
    as the spread this is Thompson sampling.

        >>> import numpy as np
        >>> from tsgrad.problems import GaussianBandit
        >>> greedy = IndexPolicy(table=np.zeros((1, 1, 20)))
        >>> greedy.prepare(GaussianBandit(arms=3), horizon=20) is greedy
        True
    """

    table: Leaf
    spread: Leaf | None

    def __init__(self, *, table: Any, spread: Any = None) -> None:
        self.table = _check_axes("table", table)
        self.spread = None if spread is None else _check_axes("spread", spread)

    def prepare(self, problem: AnyProblem, horizon: int) -> "IndexPolicy":
        model = problem.model
        if not isinstance(model, TabledArms):
            raise BadInput(
                "problem must have tabled arms, as GaussianBandit and BernoulliBandit have, for this policy,"
                f" got {type(model).__name__}"
            )
        arms, steps, cells = model.arms, horizon, model.tabled_arms()[0].cell_count(horizon)
        for name, table in (("table", self.table), ("spread", self.spread)):
            if table is not None and not (
                table.shape[0] in (1, arms) and table.shape[1] in (1, steps) and table.shape[2] == cells
            ):
                wanted = f"({arms} or 1, {steps} or 1, {cells})"
                raise BadInput(f"{name} must be {wanted} for this problem and horizon, got {table.shape}")
        return self

    def act(
        self, model: Problem, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        assert isinstance(model, TabledArms)
        cells = model.cells(belief)
        index = model.posterior_means(belief, context) + _looked_up(self.table, clock, cells)
        if self.spread is not None:
            index += _looked_up(self.spread, clock, cells) * noise.normal(jnp.arange(model.arms))
        return largest(index, context)


def check_size(entries: int, horizon: int) -> None:
    """Tables grow with the square (Gaussian arms) or the cube (Bernoulli arms) of the horizon."""
    if entries > MOST_ENTRIES:
        raise BadInput(
            "horizon must be smaller for a table of indices",
            detail=f": {horizon} takes {entries:,} entries, at most {MOST_ENTRIES:,} are kept",
        )


def _looked_up(table: Any, clock: Clock, cells: Integer[Array, "K"]) -> Float[Array, "K"]:
    rows = jnp.arange(cells.shape[0]) if table.shape[0] > 1 else 0
    return jnp.asarray(table)[rows, clock.t - 1 if table.shape[1] > 1 else 0, cells]


def _check_axes(name: str, table: Any) -> FloatArray:
    checked = check_array(name, table)
    if checked.ndim != 3:
        raise BadInput(f"{name} must be [arm or 1, t or 1, cell], got shape {checked.shape}")
    return checked
