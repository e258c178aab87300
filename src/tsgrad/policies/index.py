"""Index policies: each arm has a number that depends on it alone, and the largest is played."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Integer

from tsgrad.checks import BadInput, Leaf, check_array
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.problems import Bandit, GaussianBandit, Problem
from tsgrad.problems.gaussian import GaussianBelief
from tsgrad.registry import register
from tsgrad.streams import Noise


@register("index")
class IndexPolicy(Memoryless, Policy):
    """Plays the arm with the largest posterior mean + table[arm, pulls, t - 1], for Gaussian arms.

    `table` is [K, T, T], or [1, T, T] where all arms have the same one. Greedy is the table of zeros.

        >>> import numpy as np
        >>> from tsgrad.problems import Bandit, GaussianBandit
        >>> greedy = IndexPolicy(table=np.zeros((1, 20, 20)))
        >>> greedy.prepare(GaussianBandit(arms=3), horizon=20) is greedy
        True
    """

    table: Leaf

    def __init__(self, *, table: Any) -> None:
        self.table = check_array("table", table)
        if self.table.ndim != 3 or self.table.shape[1] != self.table.shape[2]:
            raise BadInput(f"table must be [arm or 1, pulls < T, T], got shape {self.table.shape}")

    def prepare(self, problem: Bandit, horizon: int) -> "IndexPolicy":
        model = problem.model
        if not isinstance(model, GaussianBandit):
            raise BadInput(f"problem must be a GaussianBandit for this policy, got {type(model).__name__}")
        if self.table.shape not in {(1, horizon, horizon), (model.arms, horizon, horizon)}:
            wanted = f"({model.arms} or 1, {horizon}, {horizon})"
            raise BadInput(f"table must be {wanted} for this problem and horizon, got {self.table.shape}")
        return self

    def act(
        self, model: Problem, belief: GaussianBelief, memory: None, context: None, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        assert isinstance(model, GaussianBandit)
        rows = jnp.arange(model.arms) if self.table.shape[0] > 1 else 0
        bonus = jnp.asarray(self.table)[rows, belief.pulls.astype(int), clock.t - 1]
        return jnp.argmax(model.posterior_means(belief, context) + bonus)
