"""Information relaxation sampling: the best plan in a sampled future, where knowing the future has its price."""

from typing import Any, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer

from tsgrad.arrays import FloatArray
from tsgrad.checks import check_choice
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.index import IndexPolicy
from tsgrad.policies.rivals.base import Rival, check_applies, posterior_std, stacked_rows
from tsgrad.policies.rivals.relaxation_index import trying_price
from tsgrad.policies.rivals.sampled_future import best_counts, sampled_means
from tsgrad.problems import AnyProblem, GaussianBandit
from tsgrad.problems.gaussian import GaussianBelief
from tsgrad.registry import register
from tsgrad.streams import Noise


@register("relaxation-sampling")
class RelaxationSampling(Memoryless, Rival):
    """Samples a future and plays the first move of the best plan in it (Min, Maglaras and Moallemi, 2019).

    `penalty` is the price of knowing the future; the dearer, the closer to the optimum and the slower:

    - "FH": the best arm by posterior means after all d - 1 further pulls, m + s sqrt(n / (n + noise^2 / s^2)) Z with
      n = d - 1 and d = T - t + 1. Thompson sampling that stops exploring in time, at the same cost.
    - "V-Zero": the plan that maximises the sum of posterior means as they will be when each pull is made, found by
      dynamic programming over how often each arm is pulled; plays the arm pulled most. O(K d^2) a decision.
    - "INDEX": each arm's sampled future against an arm that surely pays a price, where learning costs what it is worth;
      plays the arm that is tried at the highest price. Close to the finite-horizon Gittins index. O(K d) a decision,
      with a large constant.

        >>> import tsgrad as tg
        >>> policy = RelaxationSampling("FH").prepare(tg.GaussianBandit(arms=3), horizon=3)
        >>> print(policy.spread[0].round(3).tolist())
        [[0.816, 0.5, 0.365], [0.707, 0.408, 0.289], [0.0, 0.0, 0.0]]
    """

    problems: ClassVar[tuple[type, ...]] = (GaussianBandit,)

    penalty: Literal["FH", "V-Zero", "INDEX"] = eqx.field(static=True)

    def __init__(self, penalty: str = "FH") -> None:
        self.penalty = check_choice("penalty", penalty, ("FH", "V-Zero", "INDEX"))  # type: ignore[assignment]

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        model = check_applies(self, problem)
        if self.penalty != "FH":
            return self
        spread = stacked_rows(_spread_row, model, horizon, steps=horizon)
        return IndexPolicy(table=np.zeros((1, 1, horizon)), spread=spread)

    def act(
        self, model: Any, belief: GaussianBelief, memory: None, context: None, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        if self.penalty == "FH":
            arm: Integer[Array, ""] = self.prepare(model, clock.horizon).act(
                model, belief, memory, context, clock, noise
            )
            return arm
        means, stds = sampled_means(model, belief, clock, noise)
        if self.penalty == "V-Zero":
            return jnp.argmax(best_counts(means, clock))
        return jnp.argmax(trying_price(means, stds, clock))


def _spread_row(prior_std: float, noise_std: float, horizon: int) -> FloatArray:
    """The standard deviation of the posterior mean after all further pulls, [T, pulls]."""
    std = posterior_std(prior_std, noise_std, np.arange(horizon, dtype=np.float64))
    further = np.arange(horizon, dtype=np.float64)[::-1, None]
    return std * np.sqrt(further / (further + (noise_std / std) ** 2))
