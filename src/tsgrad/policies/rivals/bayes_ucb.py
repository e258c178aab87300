"""Bayes-UCB: optimism by a quantile of the posterior."""

from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.index import MOST_ENTRIES, IndexPolicy
from tsgrad.policies.rivals.base import PreparedRival, TabledArm, check_applies, stacked_rows, table_size
from tsgrad.problems import AnyProblem, BetaArm, Context, FiniteArms, NormalArm, Problem, TabledArms, largest
from tsgrad.problems.tabled import reached_cells
from tsgrad.registry import register
from tsgrad.streams import Noise

_NEWTON_STEPS = 12


@register("bayes-ucb")
class BayesUCB(PreparedRival):
    """Plays the arm whose posterior has the largest quantile of level 1 - 1/t (Kaufmann, Cappé and Garivier, 2012).

    For Gaussian arms m + s Phi^-1(1 - 1/t), for Bernoulli arms the quantile of Beta(alpha + successes, beta +
    failures), for linear bandits the quantile of x' theta. `quantile` is another level, one number or one per step. At
    level 0 (t = 1) every index is as low as can be: the tie goes to the largest posterior mean, then to the first arm.

    Deterministic, simple and robust, with no horizon to know; explores too much near the end.

        >>> import tsgrad as tg
        >>> policy = BayesUCB().prepare(tg.GaussianBandit(arms=3), horizon=4)
        >>> print(policy.table[0, :, 0].round(3))
        [0.    0.    0.431 0.674]
    """

    quantile: Leaf | None

    def __init__(self, quantile: Any = None) -> None:
        self.quantile = None if quantile is None else check_array("quantile", quantile, above=0)
        if self.quantile is not None and (self.quantile.ndim > 1 or np.any(self.quantile >= 1)):
            raise BadInput(f"quantile must be one number below 1, or one per step, got {quantile!r:.80}")

    def levels(self, horizon: int) -> FloatArray:
        """The level of the quantile at each step, [T]."""
        if self.quantile is None:
            return 1 - 1 / np.arange(1, horizon + 1)
        if self.quantile.ndim and self.quantile.shape != (horizon,):
            raise BadInput(f"quantile must be one number, or {horizon} for this horizon, got {self.quantile.shape[0]}")
        return np.broadcast_to(self.quantile, (horizon,))

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, TabledArms) or (isinstance(model, FiniteArms) and model.normal_arms)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        model = check_applies(self, problem)
        levels = self.levels(horizon)
        if not isinstance(model, TabledArms):
            return NormalQuantile(levels=levels)

        first = model.tabled_arms()[0]
        if isinstance(first, BetaArm) and table_size(model, horizon, steps=horizon) > MOST_ENTRIES:
            return BetaQuantile(levels=levels)

        def row(arm: TabledArm, horizon: int) -> FloatArray:
            match arm:
                case NormalArm():
                    return normal_row(arm, levels)
                case BetaArm():
                    return beta_row(arm, levels)

        return IndexPolicy(table=stacked_rows(row, model, horizon, steps=horizon))


@register("normal-quantile")
class NormalQuantile(Memoryless, Policy):
    """Plays the arm with the largest m + z s, m and s mean and standard deviation of its posterior, which is normal.

    z is the standard normal quantile of the step's level. For linear bandits this is LinUCB (Li, Chu, Langford and
    Schapire, 2010) with the width that the posterior gives it. Axes: `levels` [T].
    """

    levels: Leaf

    def __init__(self, *, levels: Any) -> None:
        self.levels = check_array("levels", levels)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        model = problem.model
        if not isinstance(model, FiniteArms) or not model.normal_arms:
            raise BadInput(
                "problem must have arms with normal posteriors, as GaussianBandit and LinearBandit have, for this"
                f" policy, got {type(model).__name__}"
            )
        if self.levels.shape != (horizon,):
            raise BadInput(f"levels must have shape ({horizon},) for this horizon, got {self.levels.shape}")
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        mean, std = model.arm_moments(belief, context)
        level = jnp.asarray(self.levels)[clock.t - 1]
        width = jax.scipy.special.ndtri(jnp.where(level > 0, level, 0.5))
        return largest(mean + width * std, context)


@register("beta-quantile")
class BetaQuantile(Memoryless, Policy):
    """Plays the Bernoulli arm whose beta posterior has the largest quantile of the step's level, computed as it is
    needed: what `BayesUCB` prepares to be where a table would be too large. Axes: `levels` [T].
    """

    levels: Leaf

    def __init__(self, *, levels: Any) -> None:
        self.levels = check_array("levels", levels)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        model = problem.model
        if not isinstance(model, TabledArms) or not isinstance(model.tabled_arms()[0], BetaArm):
            raise BadInput(f"problem must have Bernoulli arms for this policy, got {type(model).__name__}")
        if self.levels.shape != (horizon,):
            raise BadInput(f"levels must have shape ({horizon},) for this horizon, got {self.levels.shape}")
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        law = model.posterior(belief)
        above = 1 - jnp.asarray(self.levels)[clock.t - 1]
        mean = model.posterior_means(belief, context)
        quantile = upper_quantile(law.alpha, law.beta, jnp.where(above < 1, above, 0.5))
        return largest(jnp.where(above < 1, quantile, mean), context)


def upper_quantile(alpha: Float[Array, "K"], beta: Float[Array, "K"], above: Float[Array, ""]) -> Float[Array, "K"]:
    """What a Beta(alpha, beta) variable exceeds with probability `above`: to 1e-9 of its standard deviation in float64,
    in float32 to 0.01 of it where alpha + beta is below 10^4, and to a sixth at 10^5.

    Newton's method for the logarithm of that probability, as a function of the logit y: it is concave and falls, so
    that every step from the second on comes nearer, from above.

        >>> print(upper_quantile(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0]), jnp.asarray(0.25)).round(4))
        [0.75  0.866]
    """
    spread = jnp.sqrt(1 / alpha + 1 / beta)
    wanted = jnp.log(above)

    def step(_: Any, y: Float[Array, "K"]) -> Float[Array, "K"]:
        log_value, log_complement = jax.nn.log_sigmoid(y), jax.nn.log_sigmoid(-y)
        chance = special.betainc(beta, alpha, jnp.exp(log_complement))
        exceeded = jnp.log(jnp.maximum(chance, np.finfo(chance.dtype).tiny))
        density = alpha * log_value + beta * log_complement - special.betaln(alpha, beta)
        move = (exceeded - wanted) * jnp.exp(exceeded - density)
        return y + jnp.clip(move, -spread, spread)

    start = jnp.log(alpha / beta) + spread * jnp.maximum(jax.scipy.special.ndtri(1 - above), 0.0)
    return jax.nn.sigmoid(jax.lax.fori_loop(0, _NEWTON_STEPS, step, start))


def normal_row(arm: NormalArm, levels: FloatArray) -> FloatArray:
    """What the quantile adds to the posterior mean of a Gaussian arm, [T, pulls]."""
    from scipy import special

    return np.outer(special.ndtri(np.where(levels > 0, levels, 0.5)), arm.stds(len(levels)))


def beta_row(arm: BetaArm, levels: FloatArray) -> FloatArray:
    """What the quantile adds to the posterior mean of a Bernoulli arm, [T, cell]."""
    from scipy import special

    a, b = arm.counts(len(levels))
    row = np.zeros((len(levels), len(a)))
    for step, level in enumerate(levels):
        seen = reached_cells(step)
        if level > 0:
            row[step, seen] = special.betaincinv(a[seen], b[seen], level) - a[seen] / (a + b)[seen]
    return row
