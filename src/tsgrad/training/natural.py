"""The natural gradient: steps that are measured by how much they change the decisions of an episode."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import jax.scipy.linalg as linalg
import optax
from jaxtyping import Array, Float, Integer

_TINY = 1e-290  # keeps quotients finite where there is no gradient at all
LONGEST = 0.5  # step of one meta-parameter: they are logarithms, or in standard deviations
MOST_PARAMETERS = 500  # beyond, a matrix of all pairs is more than a step is worth


class NaturalState(NamedTuple):
    """Running means of gradient and Fisher matrix, and how much of the planned step is taken."""

    steps: Integer[Array, ""]
    gradient: Float[Array, "P"]
    fisher: Float[Array, "P P"]
    trust: Float[Array, ""]


def natural(
    learning_rate: optax.ScalarOrSchedule,
    *,
    gradient_decay: float = 0.5,
    fisher_decay: float = 0.8,
    damping: float = 0.01,
) -> optax.GradientTransformationExtraArgs:
    """Natural gradient descent in a trust region; `update` takes the Fisher matrix as `fisher`.

    Args:
        learning_rate: the length of a step in the metric of the Fisher matrix, sqrt(d' F d): a step of length r changes
            the log-likelihood of an episode's decisions by r^2 / 2 in expectation. A number or a schedule.
        gradient_decay: of the running mean of gradients.
        fisher_decay: of the running mean of Fisher matrices.
        damping: what is added to the matrix, as a share of its diagonal.

    Returns:
        The transformation. Its state's `trust` shortens steps.

    """

    def init(parameters: Any) -> NaturalState:
        size = parameters.shape[0]
        return NaturalState(jnp.int32(0), jnp.zeros(size), jnp.zeros((size, size)), jnp.ones(()))

    def update(descent: Any, state: NaturalState, parameters: Any = None, *, fisher: Any, **_: Any) -> Any:
        steps = state.steps + 1
        gradient = gradient_decay * state.gradient + (1 - gradient_decay) * descent
        mean_fisher = fisher_decay * state.fisher + (1 - fisher_decay) * fisher
        # Running means that start from zero; the step's length makes that of the gradient irrelevant.
        metric = mean_fisher / (1 - fisher_decay**steps)
        diagonal = jnp.diagonal(metric)
        # What has no part in any decision must not make the matrix singular.
        floor = jnp.maximum(damping * diagonal, 1e-12 * jnp.max(diagonal)) + _TINY
        direction = linalg.solve(metric + jnp.diag(floor), gradient, assume_a="pos")
        length = jnp.sqrt(jnp.maximum(direction @ metric @ direction, _TINY))
        rate = learning_rate(state.steps) if callable(learning_rate) else learning_rate
        # Nothing may jump where the matrix knows of no reason not to.
        scale = jnp.minimum(state.trust * rate / length, LONGEST / (jnp.max(jnp.abs(direction)) + _TINY))
        step = -scale * direction
        return jnp.where(length > 1e-140, step, 0), NaturalState(steps, gradient, mean_fisher, state.trust)

    return optax.GradientTransformationExtraArgs(init, update)


def with_less_trust(state: Any) -> Any:
    """The optimizer's state with steps half as long, where it has a trust region."""
    return optax.tree.set(state, trust=0.5 * optax.tree.get(state, "trust"))


def has_trust(state: Any) -> bool:
    """Whether an optimizer's state belongs to a method with a trust region."""
    return optax.tree.get(state, "trust") is not None
