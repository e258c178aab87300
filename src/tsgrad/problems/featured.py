"""Arms that are known by their features, fixed or seen anew at each step."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.problems.base import Context, FiniteArms
from tsgrad.problems.contexts import Contexts
from tsgrad.problems.normal_prior import NormalPrior
from tsgrad.streams import Noise


class FeaturedArms(NormalPrior, FiniteArms):
    """K arms with features [K, d]: an array, or a process of contexts. What `as_features` gives."""

    features: Any

    @property
    def arms(self) -> int:
        return int(self.features.shape[0])

    def arm_features(self, context: Context) -> Float[Array, "K d"]:
        """The features of every arm at a step."""
        return jnp.asarray(self.features if context.features is None else context.features, jnp.result_type(float))

    def draw_context(self, previous: Context | None, noise: Noise, t: Integer[Array, ""]) -> Context:
        if not isinstance(self.features, Contexts):
            return Context()
        return Context(self.features.draw(None if previous is None else previous.features, noise, t))

    def check_horizon(self, horizon: int) -> None:
        """Raises BadInput where there are no contexts for so many steps."""
        if isinstance(self.features, Contexts):
            self.features.check_horizon(horizon)
