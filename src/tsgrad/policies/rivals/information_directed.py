"""Information-directed sampling: the least regret for what is learnt."""

import functools
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import Leaf
from tsgrad.checks import BadInput, check_choice
from tsgrad.policies.base import Clock, Memoryless, Policy, computed_once
from tsgrad.policies.index import check_size
from tsgrad.policies.rivals.base import PreparedRival, check_applies, normal_arms, stacked_rows
from tsgrad.policies.rivals.best_arm import sampled_best_arm
from tsgrad.policies.rivals.best_arm_bernoulli import (
    bernoulli_best_arm,
    bernoulli_information,
    beta_grid,
    beta_row,
)
from tsgrad.policies.rivals.best_arm_gaussian import far_below, gaussian_best_arm, gaussian_information
from tsgrad.problems import AnyProblem, BetaArm, Context, FiniteArms, NormalArm, Problem, TabledArms, largest
from tsgrad.registry import register
from tsgrad.streams import Noise

Gain = Literal["variance", "mutual"]


@register("information-directed")
class InformationDirected(PreparedRival):
    """Plays the mixture of two arms that minimises (expected shortfall)^2 / expected gain (Russo and Van Roy, 2018).

    The shortfall of an arm is what it is expected to earn less than A* does, the best of the available arms. With
    `gain="variance"`, as in the paper, its gain is how much knowing A* would move its mean; with `gain="mutual"` the
    information of its next reward about A*, which alone looks at noise. Both by quadrature for Gaussian and Bernoulli
    arms; the variance by 512 draws from the posterior for any others, linear bandits among them.

    Strong where arms teach about each other or differ in what they teach. Only the rivals that plan take longer.

        >>> import tsgrad as tg
        >>> tg.simulate(tg.GaussianBandit(arms=1), InformationDirected(), horizon=5, episodes=9, seed=0).pulls.tolist()
        [5.0]
    """

    gain: Gain = eqx.field(static=True)

    def __init__(self, gain: str = "variance") -> None:
        self.gain = check_choice("gain", gain, ("variance", "mutual"))  # type: ignore[assignment]

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, FiniteArms)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        model = check_applies(self, problem)
        match model.tabled_arms()[0] if isinstance(model, TabledArms) else None:
            case NormalArm():
                return GaussianInformationDirected(self.gain, normal_arms(model).noise_std)
            case BetaArm() as arm:
                grid = beta_grid(model.tabled_arms())
                check_size(model.arms * arm.cell_count(horizon + 1) * len(grid), horizon)
                row = functools.partial(beta_row, grid=grid)
                return BernoulliInformationDirected(self.gain, stacked_rows(row, model, horizon, steps=1))
        if self.gain == "mutual":
            raise BadInput(
                f"gain must be 'variance' for {type(model).__name__}: 'mutual' is for Gaussian and Bernoulli arms"
            )
        return SampledInformationDirected()


class GaussianInformationDirected(Memoryless, Policy):
    """What `InformationDirected` prepares to be for Gaussian arms; `noise_std` is [K]."""

    gain: Gain = eqx.field(static=True)
    noise_std: Leaf

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        believed = far_below(model.arm_moments(belief, context), context)
        once = functools.partial(computed_once, clock=clock)
        best, noise_std = gaussian_best_arm(believed, once), jnp.asarray(self.noise_std, believed.std.dtype)
        gain = best.variance if self.gain == "variance" else gaussian_information(believed, noise_std, once)
        return best_mixture(best.shortfall, gain, context).play(noise)


class BernoulliInformationDirected(Memoryless, Policy):
    """What `InformationDirected` prepares to be for Bernoulli arms.

    `below` holds distribution functions, [arm or 1, cell, grid].
    """

    gain: Gain = eqx.field(static=True)
    below: Leaf

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        def distribution(seen: Any) -> Float[Array, "K G"]:
            rows = jnp.arange(model.arms) if self.below.shape[0] > 1 else 0
            return jnp.asarray(self.below)[rows, model.cells(seen)]

        def after(reward: float) -> Any:
            return jax.tree.map(jnp.add, belief, model.evidence(jnp.full(model.arms, reward)))

        mean = model.posterior_means(belief, context)
        functions = [distribution(seen) for seen in (belief, after(1.0), after(0.0))]
        if context.available is not None:  # the others are taken to be -1 for sure, and so are never best
            mean = jnp.where(context.available, mean, -1.0)
            functions = [jnp.where(context.available[:, None], below, 1.0) for below in functions]
        now, success, failure = functions
        best = bernoulli_best_arm(mean, now, success)
        gain = best.variance if self.gain == "variance" else bernoulli_information(mean, now, success, failure)
        return best_mixture(best.shortfall, gain, context).play(noise)


class SampledInformationDirected(Memoryless, Policy):
    """What `InformationDirected` prepares to be for any other arms."""

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        best = sampled_best_arm(model, belief, context, noise)
        return best_mixture(best.shortfall, best.variance, context).play(noise.at(0))


class Mixture(NamedTuple):
    """The first arm with a probability, else the second."""

    first: Integer[Array, ""]
    second: Integer[Array, ""]
    probability: Float[Array, ""]

    def play(self, noise: Noise) -> Integer[Array, ""]:
        """One of the two."""
        return jnp.where(noise.uniform(0) <= self.probability, self.first, self.second)


def best_mixture(shortfall: Float[Array, "K"], gain: Float[Array, "K"], context: Context) -> Mixture:
    """The mixture of available arms with the least (expected shortfall)^2 / expected gain; two arms are enough.

    For arms 1 and 2 with shortfalls d and gains g the ratio has its minimum inside at the probability
    d_2 / (d_1 - d_2) - 2 g_2 / (g_1 - g_2) of the first, if at all; else one of them alone is as good. Where nothing
    can be gained, the least shortfall is played.

        >>> mixture = best_mixture(jnp.array([1.0, 2.0]), jnp.array([0.1, 1.0]), Context())
        >>> print([round(float(field), 3) for field in mixture])
        [0.0, 1.0, 0.222]
    """
    smallest = np.finfo(gain.dtype).tiny
    if context.available is not None:
        shortfall, gain = (jnp.where(context.available, of_arm, 0.0) for of_arm in (shortfall, gain))
    # In units of the largest, so that squares of small numbers don't vanish
    shortfall = shortfall / jnp.maximum(jnp.max(shortfall), smallest)
    gain = gain / jnp.maximum(jnp.max(gain), smallest)
    slope, rise = shortfall[:, None] - shortfall, gain[:, None] - gain
    inside = (slope != 0) & (rise != 0)
    first = shortfall / jnp.where(inside, slope, 1.0) - 2 * gain / jnp.where(inside, rise, 1.0)
    first = jnp.where(inside, jnp.clip(first, 0.0, 1.0), 1.0)
    lost = shortfall + first * slope
    learnt = gain + first * rise
    ratio = jnp.where(learnt > 0, lost**2 / jnp.where(learnt > 0, learnt, 1.0), jnp.inf)
    ratio = jnp.where(lost > 0, ratio, 0.0)
    # A pair is looked at once: its two orders differ by rounding alone, which must not decide who comes first.
    offered = jnp.triu(jnp.ones_like(ratio, dtype=bool))
    if context.available is not None:
        offered &= context.available[:, None] & context.available
    ratio = jnp.where(offered, ratio, jnp.inf)
    pair = jnp.divmod(jnp.argmin(ratio), gain.shape[0])
    least = largest(-shortfall, context)
    nothing = ~jnp.isfinite(ratio[pair])
    return Mixture(
        jnp.where(nothing, least, pair[0]),
        jnp.where(nothing, least, pair[1]),
        first[pair],
    )
