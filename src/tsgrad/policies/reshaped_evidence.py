"""A reshaped posterior for any problem with independent arms: yours too, without a line of code."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput
from tsgrad.laws import ProductLaw
from tsgrad.policies.base import Clock, Memoryless, SamplesWorlds
from tsgrad.policies.reshaped import ReshapedThompson, bounded_exp, check_fits, check_meta_parameters, start_values
from tsgrad.problems import AnyProblem, Context, IndependentArms
from tsgrad.registry import register

BOUND = 8.0  # of logarithms: evidence counted up to 3,000 times


@register("reshaped-evidence")
class ReshapedEvidence(Memoryless, SamplesWorlds):
    """Draws from posterior(w fraction_left^-gamma belief): evidence counted w times, and more as time runs out.

    The two meta-parameters of each arm are evidence_weight w, held as logarithm, and decay gamma. Axes: [K] each, or
    none where shared. At one and zero this is plain Thompson sampling. A belief's statistics add up over rewards;
    `posterior` must make sense of them at any positive multiple.
    """

    log_evidence_weight: Leaf
    decay: Leaf

    def __init__(self, *, log_evidence_weight: Any, decay: Any) -> None:
        checked = check_meta_parameters(log_evidence_weight=log_evidence_weight, decay=decay)
        self.log_evidence_weight, self.decay = checked["log_evidence_weight"], checked["decay"]

    def prepare(self, problem: AnyProblem, horizon: int) -> "ReshapedEvidence":
        if not isinstance(problem.model, IndependentArms):
            raise BadInput(f"problem must have independent arms for this policy, got {type(problem.model).__name__}")
        check_fits(self.decay, problem.model.arms)
        return self

    def law(self, model: Any, belief: Any, memory: None, context: Context, clock: Clock) -> ProductLaw:
        weight = bounded_exp(self.log_evidence_weight - self.decay * jnp.log(clock.fraction_left), 0.0, BOUND)
        law: ProductLaw = model.posterior(jax.tree.map(lambda statistic: weight * statistic, belief))
        return law

    def trainable(self) -> Any:
        return jax.tree.map(lambda _: True, self)

    def meta_parameters(self) -> dict[str, FloatArray]:
        return {
            "evidence_weight": np.asarray(np.exp(self.log_evidence_weight)),
            "decay": np.asarray(self.decay),
        }


@ReshapedThompson.register
def _(problem: IndependentArms, *, shared: bool = False) -> ReshapedEvidence:
    nothing = np.zeros(problem.arms)
    return ReshapedEvidence(**start_values(shared, log_evidence_weight=nothing, decay=nothing))
