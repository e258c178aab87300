"""Information relaxation sampling: the best plan in a sampled future, where knowing the future has its price.

The price that an index is about: an arm, with d decisions left, against one that surely pays lambda. Knowing the arm's
future is priced by the value of perfect information W = (decisions left) E[max(theta, lambda)]: pulling at a step after
which r decisions are left pays mu_j - r (E_{j+1} - E_j), where mu_j and E_j are the means of theta and of
max(theta, lambda) after j pulls. With n pulls in all, the idle steps are best spent together where E is least among
j <= n, which gives

    Val(0) = d lambda,    Val(n) = sum_{j<n} (mu_j - E_j) + d E_0 + (d - n) (lambda - min_{j<=n} E_j).

The arm is tried now if the best n leaves no idle step, or at least one pull before the idle steps.
"""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.stats as stats
import numpy as np
from jaxtyping import Array, Bool, Float, Integer

from tsgrad.arrays import FloatArray
from tsgrad.checks import check_choice
from tsgrad.policies.base import Clock, Memoryless, Policy, computed_once
from tsgrad.policies.index import IndexPolicy
from tsgrad.policies.rivals.base import (
    NormalArms,
    PreparedRival,
    check_applies,
    has_normal_arms,
    normal_arms,
    stacked_rows,
)
from tsgrad.problems import AnyProblem, Context, NormalArm, Problem, largest
from tsgrad.registry import register
from tsgrad.streams import Noise

Penalty = Literal["FH", "V-Zero", "INDEX"]

_HALVINGS = 26  # of a bracket of a few standard deviations: float32 can't tell more
_REACH = 6.0  # standard deviations, by which the bracket exceeds all sampled means


@register("relaxation-sampling")
class RelaxationSampling(PreparedRival):
    """Samples a future and plays the first move of the best plan in it (Min, Maglaras and Moallemi, 2019).

    Plans use the arms that are available now, as if no others were to the end.

    `penalty` is the price of knowing the future; from the cheapest to compute to the closest to the optimum:

    - "FH": the best arm by posterior means after all d - 1 further pulls, m + s sqrt(n / (n + noise^2 / s^2)) Z with
      n = d - 1 and d = T - t + 1. Thompson sampling that stops exploring in time, at the same cost.
    - "V-Zero": the plan that maximises the sum of posterior means as they will be when each pull is made, found by
      dynamic programming over how often each arm is pulled; plays the arm pulled most. O(K d^2) per decision.
    - "INDEX": each arm's sampled future against an arm that surely pays a price, where learning costs what it is worth;
      plays the arm that is tried at the highest price. Close to the finite-horizon Gittins index. O(K d) per decision,
      with a large constant.

        >>> import tsgrad as tg
        >>> policy = RelaxationSampling("FH").prepare(tg.GaussianBandit(arms=3), horizon=3)
        >>> print(policy.spread[0].round(3).tolist())
        [[0.816, 0.5, 0.365], [0.707, 0.408, 0.289], [0.0, 0.0, 0.0]]
    """

    penalty: Penalty = eqx.field(static=True)

    def __init__(self, penalty: str = "FH") -> None:
        self.penalty = check_choice("penalty", penalty, ("FH", "V-Zero", "INDEX"))  # type: ignore[assignment]

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return has_normal_arms(model)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        model = check_applies(self, problem)
        if self.penalty == "FH":
            spread = stacked_rows(_spread_row, model, horizon, steps=horizon)
            return IndexPolicy(table=np.zeros((1, 1, horizon)), spread=spread)
        return PreparedRelaxationSampling(self.penalty, normal_arms(model))


class PreparedRelaxationSampling(Memoryless, Policy):
    """What `RelaxationSampling` prepares to be where no table says all: it samples futures of its arms."""

    penalty: Penalty = eqx.field(static=True)
    arms: NormalArms

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        now = model.posterior_means(belief, context)
        means, stds = sampled_means(self.arms, now, model.cells(belief), clock, noise)
        if self.penalty == "INDEX":
            return largest(trying_price(means, stds, clock), context)
        counts = best_counts(context.offered(means.T).T, clock)
        return largest(counts.astype(means.dtype), context)


def _spread_row(arm: NormalArm, horizon: int) -> FloatArray:
    """The standard deviation of the posterior mean after all further pulls, [T, pulls]."""
    std = arm.stds(horizon)
    further = np.arange(horizon, dtype=np.float64)[::-1, None]
    return np.asarray(std * np.sqrt(further / (further + (arm.noise_std / std) ** 2)))


def sampled_means(
    arms: NormalArms, now: Float[Array, "K"], pulls: Integer[Array, "K"], clock: Clock, noise: Noise
) -> tuple[Float[Array, "K T"], Float[Array, "K T"]]:
    """Each arm's posterior mean and standard deviation after j = 0..T-1 further pulls, whose rewards are drawn.

    `now` and `pulls` are the posterior means and pulls to start from. Posterior means are a martingale with independent
    normal steps, each with the variance that its pull resolves. The first T - t + 1 entries are those that the rest of
    the episode can reach.
    """
    count, horizon = now.shape[0], clock.horizon
    prior_std, noise_std = (jnp.asarray(std)[:, None] for std in arms)
    variance = prior_std**2 / (1 + (prior_std / noise_std) ** 2 * (pulls[:, None] + jnp.arange(horizon)))
    # s_j^2 - s_{j+1}^2 = s_j^2 s_{j+1}^2 / noise^2, multiplied out
    step = jnp.sqrt(variance[:, :-1] * variance[:, 1:]) / noise_std
    drawn = noise.normal(jnp.arange(count * horizon)).reshape(count, horizon)[:, : horizon - 1]
    moves = jnp.concatenate([jnp.zeros((count, 1)), jnp.cumsum(step * drawn, axis=1)], axis=1)
    return now[:, None] + moves, jnp.sqrt(variance)


def best_counts(means: Float[Array, "K T"], clock: Clock) -> Integer[Array, "K"]:
    """How often to pull each arm, d = T - t + 1 times in all, to maximise the sum over k and j < n_k of means[k, j].

    A maximum-plus convolution over arms: best[c] is the most that c pulls of the arms so far can bring.

        >>> means = jnp.array([[1.0, 5.0, 0.0], [2.0, 2.0, 2.0]])
        >>> print(best_counts(means, Clock(t=1, horizon=3)))
        [2 1]
    """
    arms, horizon = means.shape
    totals = jnp.concatenate([jnp.zeros((arms, 1)), jnp.cumsum(means, axis=1)], axis=1)  # [K, n = 0..T]
    counts = jnp.arange(horizon + 1)

    def with_arm(best: Float[Array, "n"], total: Float[Array, "n"]) -> Any:
        def with_pulls(n: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
            value, choice = found
            candidate = jnp.where(counts >= n, jnp.roll(best, n) + total[n], -jnp.inf)
            return jnp.maximum(value, candidate), jnp.where(candidate > value, jnp.int32(n), choice)

        start = (jnp.full(horizon + 1, -jnp.inf), jnp.zeros(horizon + 1, jnp.int32))
        return jax.lax.fori_loop(0, clock.left + 1, with_pulls, start)

    nothing = jnp.where(counts == 0, 0.0, -jnp.inf)
    _, choices = jax.lax.scan(with_arm, nothing, totals)

    def backwards(left: Array, choice: Array) -> tuple[Array, Array]:
        return left - choice[left], choice[left]

    _, played = jax.lax.scan(backwards, jnp.asarray(clock.left), choices, reverse=True)
    return played


def trying_price(means: Float[Array, "K T"], stds: Float[Array, "K T"], clock: Clock) -> Float[Array, "K"]:
    """The largest lambda at which each arm is tried in its sampled future, by bisection.

    With one decision left, an arm is worth its mean:

        >>> print(trying_price(jnp.array([[0.5, 0.1]]), jnp.array([[1.0, 0.7]]), Clock(t=2, horizon=2)).round(4))
        [0.5]
    """
    reachable = jnp.arange(means.shape[1]) < clock.left
    lowest = jnp.min(jnp.where(reachable, means, jnp.inf), axis=1) - _REACH * stds[:, 0]
    highest = jnp.max(jnp.where(reachable, means, -jnp.inf), axis=1) + _REACH * stds[:, 0]

    def halve(_: Any, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = (low + high) / 2
        tried = jax.vmap(lambda mean, std, price: is_tried(mean, std, price, clock))(means, stds, middle)
        return jnp.where(tried, middle, low), jnp.where(tried, high, middle)

    low, high = jax.lax.fori_loop(0, _HALVINGS, halve, (lowest, highest))
    return jnp.asarray((low + high) / 2)


def is_tried(mean: Float[Array, "T"], std: Float[Array, "T"], price: Float[Array, ""], clock: Clock) -> Bool[Array, ""]:
    """Whether the best plan starts with a pull."""
    left = jnp.asarray(clock.left)
    j = jnp.arange(mean.shape[0])
    z = (price - mean) / std
    best = computed_once(mean + (price - mean) * stats.norm.cdf(z) + std * stats.norm.pdf(z), clock)  # E_j
    least = jax.lax.cummin(best)
    # n pulls for n = 1..T: what the first n bring, and idling at the best place among j <= n. With n = left there are
    # no idle steps, so that E_T, which the sample doesn't reach, is not needed.
    before = jnp.cumsum(mean - best) + left * best[0]
    idle = jnp.where(j + 1 < left, (left - j - 1) * (price - jnp.concatenate([least[1:], least[-1:]])), 0.0)
    value = jnp.where(j < left, before + idle, -jnp.inf)
    n = jnp.argmax(value) + 1
    idles_later = jnp.argmin(jnp.where(j <= n, best, jnp.inf)) > 0
    return (value[n - 1] >= left * price) & ((n == left) | idles_later)
