"""The paper's reshaped posterior for Gaussian arms."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.laws import NormalLaw
from tsgrad.policies.base import Clock, Memoryless, SamplesWorlds
from tsgrad.policies.reshaped import (
    ReshapedThompson,
    bounded_exp,
    check_meta_parameters,
    check_reshapes,
    start_values,
)
from tsgrad.problems import AnyProblem, Context, GaussianBandit
from tsgrad.problems.gaussian import GaussianBelief, normal_posterior
from tsgrad.registry import register

BOUND = 20.0  # of logarithms: standard deviations of exp(-10) of the prior's, 800 roundings of float32


@register("reshaped-gaussian")
class ReshapedGaussian(Memoryless, SamplesWorlds):
    """Draws arm a from N((m + rho S) / (1 + rho N), v fraction_left^gamma / (1 + rho N)).

    N and S count and sum the arm's rewards. The four meta-parameters an arm are prior_mean m, prior_variance v,
    precision_ratio rho and decay gamma; v and rho are held as logarithms. Axes: [K] each, or none where shared.
    At the problem's own values, with no decay, this is plain Thompson sampling.
    """

    prior_mean: Leaf
    log_prior_variance: Leaf
    log_precision_ratio: Leaf
    decay: Leaf

    def __init__(self, *, prior_mean: Any, log_prior_variance: Any, log_precision_ratio: Any, decay: Any) -> None:
        checked = check_meta_parameters(
            prior_mean=prior_mean,
            log_prior_variance=log_prior_variance,
            log_precision_ratio=log_precision_ratio,
            decay=decay,
        )
        self.prior_mean = checked["prior_mean"]
        self.log_prior_variance = checked["log_prior_variance"]
        self.log_precision_ratio = checked["log_precision_ratio"]
        self.decay = checked["decay"]

    def prepare(self, problem: AnyProblem, horizon: int) -> "ReshapedGaussian":
        check_reshapes(self, self.prior_mean, problem)
        return self

    def law(self, model: Any, belief: GaussianBelief, memory: None, context: Context, clock: Clock) -> NormalLaw:
        log_variance = self.log_prior_variance + self.decay * jnp.log(clock.fraction_left)
        return normal_posterior(
            belief,
            model.prior_mean,
            self.prior_mean - model.prior_mean,
            bounded_exp(log_variance, 2 * jnp.log(model.prior_std), BOUND),
            bounded_exp(self.log_precision_ratio, jnp.log(model.precision_ratio), BOUND),
        )

    def trainable(self) -> Any:
        return jax.tree.map(lambda _: True, self)

    def meta_parameters(self) -> dict[str, FloatArray]:
        return {
            "prior_mean": np.asarray(self.prior_mean),
            "prior_variance": np.asarray(np.exp(self.log_prior_variance)),
            "precision_ratio": np.asarray(np.exp(self.log_precision_ratio)),
            "decay": np.asarray(self.decay),
        }


@ReshapedThompson.register
def _(problem: GaussianBandit, *, shared: bool = False) -> ReshapedGaussian:
    return ReshapedGaussian(
        **start_values(
            shared,
            prior_mean=problem.prior_mean,
            log_prior_variance=2 * np.log(problem.prior_std),
            log_precision_ratio=np.log(problem.precision_ratio),
            decay=np.zeros(problem.arms),
        )
    )
