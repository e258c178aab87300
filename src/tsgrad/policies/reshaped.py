"""Reshaped posteriors: Thompson sampling with the numbers of its model turned into meta-parameters.

Here is what all of them share, and the paper's own for Gaussian arms.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array, check_flag
from tsgrad.laws import NormalLaw
from tsgrad.policies.base import Clock, Memoryless, SamplesWorlds, SamplingPolicy
from tsgrad.problems import AnyProblem, Context, FiniteArms, GaussianBandit, Misspecified
from tsgrad.problems.gaussian import GaussianBelief, normal_posterior
from tsgrad.registry import register

BOUND = 20.0  # of logarithms: standard deviations of exp(-10) of the prior's, 800 roundings of float32


@functools.singledispatch
def ReshapedThompson(problem: Any, *, shared: bool = False) -> SamplingPolicy:  # noqa: N802
    """The reshaped sampling policy that fits a problem, starting as plain Thompson sampling.

    Args:
        problem: what it is to play.
        shared: whether all arms have one set of meta-parameters, for arms that are alike, and can come and go.

    Returns:
        The policy, of a class that depends on the problem's.

    Raises:
        BadInput: if no reshaping is known for the problem.

    A problem of your own gets a reshaping with `@ReshapedThompson.register`.

        >>> from tsgrad.problems import GaussianBandit
        >>> policy = ReshapedThompson(GaussianBandit(arms=3), shared=True)
        >>> sorted(policy.meta_parameters())
        ['decay', 'precision_ratio', 'prior_mean', 'prior_variance']

    """
    known = ", ".join(sorted(cls.__name__ for cls in ReshapedThompson.registry if cls is not object))
    raise BadInput(
        f"problem must be one that has a reshaping ({known}), got {type(problem).__name__}:"
        " add one with @ReshapedThompson.register"
    )


def start_values(shared: bool, **values: FloatArray) -> dict[str, FloatArray]:
    """Meta-parameters to start from: one per arm, or arm 0's for all where they are shared and arms are alike."""
    if not check_flag("shared", shared):
        return values
    for name, value in values.items():
        if not np.all(value == value[0]):
            raise BadInput(f"shared must be false where arms differ: {name} is {np.array2string(value, threshold=5)}")
    return {name: np.asarray(value[0]) for name, value in values.items()}


def bounded_exp(logarithm: Leaf, start: Leaf, bound: float) -> Float[Array, "..."]:
    """exp, at most a factor exp(bound) from where plain Thompson sampling has it.

    Where the best law has no variance at all, training drives a logarithm to minus infinity. It stops here, where
    float32 can still tell a draw from the mean of its law.
    """
    return jnp.exp(start + jnp.clip(logarithm - start, -bound, bound))


def check_meta_parameters(**values: Any) -> dict[str, FloatArray]:
    """Meta-parameters as they come from a user or a file: finite, and of one shape, [K] or none."""
    arrays = {name: check_array(name, value) for name, value in values.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) > 1 or max(map(len, shapes)) > 1:
        given = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise BadInput(f"meta-parameters must all be single numbers or all have one number per arm, got {given}")
    return arrays


def check_reshapes(policy: SamplingPolicy, meta_parameter: FloatArray, problem: AnyProblem) -> None:
    """A policy must be of the kind that reshapes the problem's model, with meta-parameters for as many arms."""
    fitting = type(ReshapedThompson(problem.model))
    if type(policy) is not fitting:
        raise BadInput(
            f"policy {type(policy).__name__} does not reshape {type(problem.model).__name__}, {fitting.__name__} does:"
            " make it with ReshapedThompson(problem)"
        )
    assert isinstance(problem.model, FiniteArms)
    check_fits(meta_parameter, problem.model.arms)


def check_fits(meta_parameter: FloatArray, arms: int) -> None:
    """Per-arm meta-parameters must be as many as the problem has arms."""
    if meta_parameter.ndim and meta_parameter.shape[0] != arms:
        raise BadInput(f"policy has meta-parameters for {meta_parameter.shape[0]} arms, the problem has {arms}")


@ReshapedThompson.register
def _(problem: Misspecified, *, shared: bool = False) -> SamplingPolicy:
    return ReshapedThompson(problem.model, shared=shared)


@register("reshaped-gaussian")
class ReshapedGaussian(Memoryless, SamplesWorlds):
    """Draws arm a from N((m + rho S) / (1 + rho N), v fraction_left^gamma / (1 + rho N)).

    N and S count and sum the arm's rewards. The four meta-parameters of each arm are prior_mean m, prior_variance v,
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
