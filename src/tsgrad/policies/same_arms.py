"""Which problems show the same arms at every step: what policies need that know an arm by its number alone."""

from typing import Any

import jax
import jax.numpy as jnp

from tsgrad.checks import BadInput, check_type
from tsgrad.problems import AnyProblem, FiniteArms, Problem
from tsgrad.streams import Address, Purpose, Stream


def seen_features(model: Problem) -> Any:
    """The shape of a model's contexts; None where there are none."""
    noise = Address.of(seed=0, purpose=Purpose.TRAINING).noise(Stream.CONTEXT)
    return jax.eval_shape(lambda: model.draw_context(None, noise.step(1), jnp.int32(1))).features


def check_same_arms(what: str, problem: AnyProblem) -> FiniteArms:
    """The model of a problem with finitely many arms that are the same at all steps; refused where they are not."""
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    model: Any = problem.model
    if not isinstance(model, FiniteArms):
        raise BadInput(f"problem must have finitely many arms for {what}, got {type(model).__name__}")
    if seen_features(model) is not None:
        raise BadInput(
            f"problem must have the same arms at all steps for {what}, which knows an arm by its number, got"
            f" {type(model).__name__} with contexts: use ReshapedThompson(problem)"
        )
    return model
