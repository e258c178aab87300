"""Soft elimination: the worse an arm looks, and the surer that is, the less it is played. One number to learn."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.laws import CategoricalLaw
from tsgrad.policies.base import Clock, SamplesArms
from tsgrad.policies.same_arms import check_same_arms
from tsgrad.problems import AnyProblem, Context, Problem
from tsgrad.registry import register


class Tally(NamedTuple):
    """How often each arm was pulled, and what it paid on average; nothing where it never was. Axes: [K] each."""

    pulls: Float[Array, "K"]
    average: Float[Array, "K"]


@register("soft-elim")
class SoftElim(SamplesArms):
    """Plays arm k with probability proportional to exp(-2 gap_k^2 pulls_k / w^2).

    gap_k is how far the arm's average reward is below the best average of an arm that was pulled. An arm never pulled
    is as likely as the best. The one meta-parameter is w, `confidence_scale`, held as logarithm: exploration grows
    with it. At w = 1 exponents are those of Hoeffding's bound for rewards in [0, 1], where the policy starts.

    Boutilier, Hsu, Kveton, Mladenov, Szepesvari and Zaheer (2020), "Differentiable Meta-Learning of Bandit Policies",
    learn w by its policy gradient. It knows no prior, counts what it sees itself, and so is defined for every problem
    whose arms are the same at all steps.

        >>> import tsgrad as tg
        >>> problem = tg.BernoulliBandit(arms=3)
        >>> run = tg.train(problem, SoftElim(), tg.Estimator("mean", "self"), horizon=20, episodes=256, iterations=30,
        ...                validation_episodes=2048, learning_rate=0.1, seed=0)
        >>> run.improved, bool(run.trained.meta_parameters()["confidence_scale"] < 1)
        (True, True)
    """

    uses_clock: ClassVar[bool] = False

    log_confidence_scale: Leaf

    def __init__(self, *, log_confidence_scale: Any = 0.0) -> None:
        self.log_confidence_scale = check_array("log_confidence_scale", log_confidence_scale)
        if self.log_confidence_scale.ndim:
            raise BadInput(
                f"log_confidence_scale must be one number for all arms, got shape {self.log_confidence_scale.shape}"
            )

    def prepare(self, problem: AnyProblem, horizon: int) -> "SoftElim":
        check_same_arms("SoftElim", problem)
        return self

    def init(self, model: Any) -> Tally:
        return Tally(jnp.zeros(model.arms), jnp.zeros(model.arms))

    def law(self, model: Problem, belief: Any, memory: Tally, context: Context, clock: Clock) -> CategoricalLaw:
        pulled = memory.pulls > 0
        rated = pulled & context.there(pulled.shape[0])
        best = jnp.max(memory.average, where=rated, initial=-jnp.inf)
        gap = jnp.where(rated, best - memory.average, 0)
        return CategoricalLaw(-2 * memory.pulls * (gap * jnp.exp(-self.log_confidence_scale)) ** 2, context.available)

    def remember(self, memory: Tally, context: Context, arm: Integer[Array, ""], reward: Float[Array, ""]) -> Tally:
        # An average that is moved, not a sum that is divided: sums of rewards far from zero have no digits in float32.
        pulls = memory.pulls.at[arm].add(1)
        return Tally(pulls, memory.average.at[arm].add((reward - memory.average[arm]) / pulls[arm]))

    def trainable(self) -> Any:
        return jax.tree.map(lambda _: True, self)

    def meta_parameters(self) -> dict[str, FloatArray]:
        return {"confidence_scale": np.asarray(np.exp(self.log_confidence_scale))}
