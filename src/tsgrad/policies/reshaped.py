"""Reshaped posteriors: Thompson sampling with the numbers of its model turned into meta-parameters."""

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.policies.base import SamplingPolicy
from tsgrad.problems import AnyProblem, FiniteArms, Misspecified


@functools.singledispatch
def ReshapedThompson(problem: Any, *, shared: bool = False) -> SamplingPolicy:  # noqa: N802
    """The reshaped sampling policy that fits a problem, starting as plain Thompson sampling.

    With `shared` all arms have one set of meta-parameters, taken from arm 0, and arms can come and go.
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
    """Meta-parameters to start from: one an arm, or arm 0's for all where they are shared and arms are alike."""
    if not shared:
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
        raise BadInput(f"meta-parameters must all be single numbers or all have one number an arm, got {given}")
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
