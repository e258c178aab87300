"""A reshaped posterior for worlds that are vectors with a normal prior: linear and logistic bandits."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.laws import FramedNormalLaw
from tsgrad.policies.base import Clock, Memoryless, SamplesWorlds
from tsgrad.policies.reshaped import ReshapedThompson, bounded_exp
from tsgrad.problems import AnyProblem, Context, NormalPrior
from tsgrad.registry import register

VARIANCE_BOUND = 20.0  # of logarithms: standard deviations of exp(-10) of the posterior's
RATIO_BOUND = 8.0  # of logarithms: it bounds the condition of what is inverted below, which float32 must bear


@register("reshaped-normal")
class ReshapedNormal(Memoryless, SamplesWorlds):
    """Draws theta from N(P^-1 (S^-1 m + rho b), c fraction_left^gamma P^-1), P = S^-1 + rho A.

    S is the covariance of the model's prior, A and b what rewards have added to its precision and moment. The
    meta-parameters are prior_mean m [d], covariance_scale c and precision_ratio rho (both held as logarithms) and
    decay gamma. At the model's prior mean, one, one and zero this is plain Thompson sampling.
    """

    prior_mean: Leaf
    log_covariance_scale: Leaf
    log_precision_ratio: Leaf
    decay: Leaf

    def __init__(self, *, prior_mean: Any, log_covariance_scale: Any, log_precision_ratio: Any, decay: Any) -> None:
        self.prior_mean = check_array("prior_mean", prior_mean)
        self.log_covariance_scale = check_array("log_covariance_scale", log_covariance_scale)
        self.log_precision_ratio = check_array("log_precision_ratio", log_precision_ratio)
        self.decay = check_array("decay", decay)
        shapes = [np.shape(leaf) for leaf in (self.log_covariance_scale, self.log_precision_ratio, self.decay)]
        if self.prior_mean.ndim != 1 or any(shapes):
            raise BadInput(
                "prior_mean must have one number per dimension and all other meta-parameters be single numbers, got"
                f" shapes {', '.join(map(str, [self.prior_mean.shape, *shapes]))}"
            )

    def prepare(self, problem: AnyProblem, horizon: int) -> "ReshapedNormal":
        model = problem.model
        if not isinstance(model, NormalPrior):
            raise BadInput(f"problem must be one with a normal prior for this policy, got {type(model).__name__}")
        if model.prior_mean.shape != self.prior_mean.shape:
            raise BadInput(
                f"policy has meta-parameters for {self.prior_mean.shape[0]} dimensions,"
                f" the problem has {model.prior_mean.shape[0]}"
            )
        return self

    def law(self, model: Any, belief: Any, memory: None, context: Context, clock: Clock) -> FramedNormalLaw:
        # With u ~ N(mean, L L') whitened, A = (L L')^-1 - I and P^-1 = L W^-1 L', W = rho I + (1 - rho) L'L. As L'L
        # lies between zero and I, W is well-conditioned however little is left of the posterior's variance.
        known = model.whitened(belief)
        plain, identity = model.unwhitened(known), jnp.eye(known.mean.shape[0])
        ratio = bounded_exp(self.log_precision_ratio, 0.0, RATIO_BOUND)
        factor = jnp.linalg.cholesky(ratio * identity + (1 - ratio) * (known.root.T @ known.root))
        shift = solve_triangular(model.prior_root, self.prior_mean - model.prior_mean)
        location = cho_solve((factor, True), known.root.T @ (shift + (ratio - 1) * known.mean))
        log_variance = self.log_covariance_scale + self.decay * jnp.log(clock.fraction_left)
        whitening = factor.T / jnp.sqrt(bounded_exp(log_variance, 0.0, VARIANCE_BOUND))
        return FramedNormalLaw(plain.offset, plain.frame, location, whitening)

    def trainable(self) -> Any:
        return jax.tree.map(lambda _: True, self)

    def meta_parameters(self) -> dict[str, FloatArray]:
        return {
            "prior_mean": np.asarray(self.prior_mean),
            "covariance_scale": np.asarray(np.exp(self.log_covariance_scale)),
            "precision_ratio": np.asarray(np.exp(self.log_precision_ratio)),
            "decay": np.asarray(self.decay),
        }


@ReshapedThompson.register
def _(problem: NormalPrior, *, shared: bool = False) -> ReshapedNormal:
    # `shared` changes nothing: all arms share the world, and its meta-parameters, as they are.
    return ReshapedNormal(prior_mean=problem.prior_mean, log_covariance_scale=0.0, log_precision_ratio=0.0, decay=0.0)
