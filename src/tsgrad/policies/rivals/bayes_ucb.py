"""Bayes-UCB: optimism by a quantile of the posterior."""

from typing import Any, ClassVar

import numpy as np

from tsgrad.checks import BadInput, FloatArray, Leaf, check_array
from tsgrad.policies.index import bernoulli_cells, reached_cells
from tsgrad.policies.rivals.base import TableRival, posterior_std
from tsgrad.problems import BernoulliBandit, GaussianBandit
from tsgrad.registry import register


@register("bayes-ucb")
class BayesUCB(TableRival):
    """Plays the arm whose posterior has the largest quantile of level 1 - 1/t (Kaufmann, Cappé and Garivier, 2012).

    For Gaussian arms m + s Phi^-1(1 - 1/t), for Bernoulli arms the quantile of Beta(alpha + successes, beta +
    failures). `quantile` is another level, one number or one a step. At level 0 (t = 1) every index is as low as can
    be: the tie goes to the largest posterior mean, then to the first arm.

    Deterministic, simple and robust, with no horizon to know; explores more than is worth it as the end comes near.

        >>> import tsgrad as tg
        >>> policy = BayesUCB().prepare(tg.GaussianBandit(arms=3), horizon=4)
        >>> print(policy.table[0, :, 0].round(3))
        [0.    0.    0.431 0.674]
    """

    problems: ClassVar[tuple[type, ...]] = (GaussianBandit, BernoulliBandit)

    quantile: Leaf | None

    def __init__(self, quantile: Any = None) -> None:
        self.quantile = None if quantile is None else check_array("quantile", quantile, above=0)
        if self.quantile is not None and (self.quantile.ndim > 1 or np.any(self.quantile >= 1)):
            raise BadInput(f"quantile must be one number below 1, or one a step, got {quantile!r:.80}")

    def levels(self, horizon: int) -> FloatArray:
        """The level of the quantile at each step, [T]."""
        if self.quantile is None:
            return 1 - 1 / np.arange(1, horizon + 1)
        if self.quantile.ndim and self.quantile.shape != (horizon,):
            raise BadInput(f"quantile must be one number, or {horizon} for this horizon, got {self.quantile.shape[0]}")
        return np.broadcast_to(self.quantile, (horizon,))

    def gaussian_row(self, prior_std: float, noise_std: float, horizon: int) -> FloatArray:
        from scipy import special

        levels = self.levels(horizon)
        standard = special.ndtri(np.where(levels > 0, levels, 0.5))
        return np.outer(standard, posterior_std(prior_std, noise_std, np.arange(horizon)))

    def bernoulli_row(self, alpha: float, beta: float, horizon: int) -> FloatArray:
        from scipy import special

        successes, failures = bernoulli_cells(horizon)
        a, b = alpha + successes, beta + failures
        row = np.zeros((horizon, len(a)))
        for step, level in enumerate(self.levels(horizon)):
            seen = reached_cells(step)
            if level > 0:
                row[step, seen] = special.betaincinv(a[seen], b[seen], level) - a[seen] / (a + b)[seen]
        return row
