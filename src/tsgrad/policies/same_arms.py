"""Which problems show the same arms at every step: what policies need that know an arm by its number alone."""

from typing import Any

import jax
import jax.numpy as jnp

from tsgrad.checks import BadInput
from tsgrad.problems import AnyProblem, Context, FiniteArms, Problem
from tsgrad.streams import Address, Purpose, Stream


def first_context(model: Problem) -> Context:
    """What is seen before the first choice: shapes and types, no numbers."""
    noise = Address.of(seed=0, purpose=Purpose.TRAINING).noise(Stream.CONTEXT)
    context: Context = jax.eval_shape(lambda: model.draw_context(None, noise.step(1), jnp.int32(1)))
    return context


def check_same_arms(what: str, problem: AnyProblem) -> FiniteArms:
    """The model of a problem with finitely many arms that are the same at all steps; refused where they are not."""
    model: Any = problem.model
    if not isinstance(model, FiniteArms):
        raise BadInput(f"problem must have finitely many arms for {what}, got {type(model).__name__}")
    if first_context(model).features is not None:
        raise BadInput(
            f"problem must have the same arms at all steps for {what}, which knows an arm by its number, got"
            f" {type(model).__name__} with contexts: use ReshapedThompson(problem)"
        )
    return model
