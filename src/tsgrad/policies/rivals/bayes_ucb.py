"""Bayes-UCB: optimism by a quantile of the posterior."""

import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.index import IndexPolicy, bernoulli_cells, reached_cells
from tsgrad.policies.rivals.base import PreparedRival, check_applies, posterior_std, stacked_rows
from tsgrad.problems import AnyProblem, BernoulliBandit, GaussianBandit, LinearBandit
from tsgrad.registry import register
from tsgrad.streams import Noise


@register("bayes-ucb")
class BayesUCB(PreparedRival):
    """Plays the arm whose posterior has the largest quantile of level 1 - 1/t (Kaufmann, Cappé and Garivier, 2012).

    For Gaussian arms m + s Phi^-1(1 - 1/t), for Bernoulli arms the quantile of Beta(alpha + successes, beta +
    failures), for linear bandits the quantile of x' theta. `quantile` is another level, one number or one a step. At
    level 0 (t = 1) every index is as low as can be: the tie goes to the largest posterior mean, then to the first arm.

    Deterministic, simple and robust, with no horizon to know; explores more than is worth it as the end comes near.

        >>> import tsgrad as tg
        >>> policy = BayesUCB().prepare(tg.GaussianBandit(arms=3), horizon=4)
        >>> print(policy.table[0, :, 0].round(3))
        [0.    0.    0.431 0.674]
    """

    problems: ClassVar[tuple[type, ...]] = (GaussianBandit, BernoulliBandit, LinearBandit)

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

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        model = check_applies(self, problem)
        levels = self.levels(horizon)
        if isinstance(model, LinearBandit):
            return LinearQuantile(levels=levels)
        row = gaussian_row if isinstance(model, GaussianBandit) else bernoulli_row
        return IndexPolicy(table=stacked_rows(functools.partial(row, levels), model, horizon, steps=horizon))


@register("linear-quantile")
class LinearQuantile(Memoryless, Policy):
    """Plays the arm with the largest x' m + z sqrt(x' S x), m and S mean and covariance of the posterior.

    z is the standard normal quantile of the step's level: LinUCB (Li, Chu, Langford and Schapire, 2010) with the
    width that the posterior gives it. Axes: `levels` [T].
    """

    levels: Leaf

    def __init__(self, *, levels: Any) -> None:
        self.levels = check_array("levels", levels)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        if not isinstance(problem.model, LinearBandit):
            raise BadInput(f"problem must be a LinearBandit for this policy, got {type(problem.model).__name__}")
        if self.levels.shape != (horizon,):
            raise BadInput(f"levels must have shape ({horizon},) for this horizon, got {self.levels.shape}")
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Any, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        features, law = model.arm_features(context), model.posterior(belief)
        level = jnp.asarray(self.levels)[clock.t - 1]
        width = jax.scipy.special.ndtri(jnp.where(level > 0, level, 0.5))
        return jnp.argmax(features @ law.mean + width * jnp.linalg.norm(features @ law.root, axis=1))


def gaussian_row(levels: FloatArray, prior_std: float, noise_std: float, horizon: int) -> FloatArray:
    """What the quantile adds to the posterior mean of a Gaussian arm, [T, pulls]."""
    from scipy import special

    standard = special.ndtri(np.where(levels > 0, levels, 0.5))
    return np.outer(standard, posterior_std(prior_std, noise_std, np.arange(horizon, dtype=np.float64)))


def bernoulli_row(levels: FloatArray, alpha: float, beta: float, horizon: int) -> FloatArray:
    """What the quantile adds to the posterior mean of a Bernoulli arm, [T, cell]."""
    from scipy import special

    successes, failures = bernoulli_cells(horizon)
    a, b = alpha + successes, beta + failures
    row = np.zeros((horizon, len(a)))
    for step, level in enumerate(levels):
        seen = reached_cells(step)
        if level > 0:
            row[step, seen] = special.betaincinv(a[seen], b[seen], level) - a[seen] / (a + b)[seen]
    return row
