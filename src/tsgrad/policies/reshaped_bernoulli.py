"""A reshaped posterior for arms that pay one or nothing."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.laws import BetaLaw
from tsgrad.policies.base import Clock, Memoryless, SamplesWorlds
from tsgrad.policies.reshaped import (
    ReshapedThompson,
    check_meta_parameters,
    check_reshapes,
    start_values,
)
from tsgrad.problems import AnyProblem, BernoulliBandit, Context
from tsgrad.problems.bernoulli import BernoulliBelief
from tsgrad.registry import register

BOUND = 8.0  # of logarithms: counts 3,000 times those of the model; float32 loses the score of larger ones


@register("reshaped-bernoulli")
class ReshapedBernoulli(Memoryless, SamplesWorlds):
    """Draws arm a from Beta(c (alpha + w successes), c (beta + w failures)), c = fraction_left^-decay.

    The four meta-parameters of each arm are the prior counts alpha and beta, the evidence_weight w (these three held as
    logarithms) and decay: where it is positive the draw concentrates on its mean as time runs out. Axes: [K] each,
    or none where shared. At the problem's own values, with no decay, this is plain Thompson sampling.
    """

    log_alpha: Leaf
    log_beta: Leaf
    log_evidence_weight: Leaf
    decay: Leaf

    def __init__(self, *, log_alpha: Any, log_beta: Any, log_evidence_weight: Any, decay: Any) -> None:
        checked = check_meta_parameters(
            log_alpha=log_alpha, log_beta=log_beta, log_evidence_weight=log_evidence_weight, decay=decay
        )
        self.log_alpha = checked["log_alpha"]
        self.log_beta = checked["log_beta"]
        self.log_evidence_weight = checked["log_evidence_weight"]
        self.decay = checked["decay"]

    def prepare(self, problem: AnyProblem, horizon: int) -> "ReshapedBernoulli":
        check_reshapes(self, self.log_alpha, problem)
        return self

    def law(self, model: Any, belief: BernoulliBelief, memory: None, context: Context, clock: Clock) -> BetaLaw:
        starts = jnp.log(model.alpha), jnp.log(model.beta), 0.0
        moved = self.log_alpha - starts[0], self.log_beta - starts[1], self.log_evidence_weight
        alpha, beta, weight = (jnp.clip(one, -BOUND, BOUND) for one in moved)
        # One concentration for all counts, within bounds that hold for each of them: the mean of the law stays.
        lowest = -BOUND - jax.lax.stop_gradient(jnp.minimum(jnp.minimum(alpha, beta), weight))
        highest = BOUND - jax.lax.stop_gradient(jnp.maximum(jnp.maximum(alpha, beta), weight))
        concentration = jnp.clip(-self.decay * jnp.log(clock.fraction_left), lowest, highest)
        evidence = jnp.exp(weight + concentration)
        return BetaLaw(
            jnp.exp(starts[0] + (alpha + concentration)) + evidence * belief.successes,
            jnp.exp(starts[1] + (beta + concentration)) + evidence * belief.failures,
        )

    def trainable(self) -> Any:
        return jax.tree.map(lambda _: True, self)

    def meta_parameters(self) -> dict[str, FloatArray]:
        return {
            "alpha": np.asarray(np.exp(self.log_alpha)),
            "beta": np.asarray(np.exp(self.log_beta)),
            "evidence_weight": np.asarray(np.exp(self.log_evidence_weight)),
            "decay": np.asarray(self.decay),
        }


@ReshapedThompson.register
def _(problem: BernoulliBandit, *, shared: bool = False) -> ReshapedBernoulli:
    return ReshapedBernoulli(
        **start_values(
            shared,
            log_alpha=np.log(problem.alpha),
            log_beta=np.log(problem.beta),
            log_evidence_weight=np.zeros(problem.arms),
            decay=np.zeros(problem.arms),
        )
    )
