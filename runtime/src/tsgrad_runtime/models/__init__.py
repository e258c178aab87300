"""Models, in NumPy: what is believed of each arm, and how a reward changes it; one class for each problem of `tsgrad`.

Beliefs are tuples of arrays that are never changed in place, computed in the order in which rewards came: the same
rewards in the same order give the same belief, bit for bit.
"""

from collections.abc import Callable
from typing import Any

from tsgrad_runtime.checks import BadInput, check_choice
from tsgrad_runtime.models.base import Belief, Model
from tsgrad_runtime.models.independent import Bernoulli, Gaussian, IndependentArms, Poisson, UnknownVariance
from tsgrad_runtime.models.linear import Ball, Linear, LinearRewards, NormalPrior
from tsgrad_runtime.models.logistic import Logistic

__all__ = [
    "Ball",
    "Belief",
    "Bernoulli",
    "Gaussian",
    "IndependentArms",
    "LinearRewards",
    "Model",
    "NormalPrior",
    "Poisson",
    "model_of",
]

MODELS: dict[str, Callable[..., Model]] = {
    "gaussian": Gaussian,
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "unknown-variance": UnknownVariance,
    "linear": Linear,
    "ball": Ball,
    "logistic": Logistic,
}


def model_of(problem: dict[str, Any]) -> Model:
    """The model that the problem of an artefact describes: of a misspecified one, what policies see of it."""
    if problem.get("kind") == "misspecified" and isinstance(problem.get("model"), dict):
        problem = problem["model"]
    kind = check_choice("problem.kind", problem.get("kind"), MODELS)  # type: ignore[arg-type]
    try:
        return MODELS[kind](**{name: value for name, value in problem.items() if name != "kind"})
    except (TypeError, KeyError, IndexError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"problem (kind {kind!r}) can't be made from its fields: {error!s:.120}") from None
