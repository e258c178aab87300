"""Arms whose prior is not certain: each episode has its own, one of several that data can't tell apart."""

import dataclasses
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import Leaf
from tsgrad.checks import BadInput, check_array, check_type
from tsgrad.laws import ProductLaw
from tsgrad.problems.base import ArmMoments, Context, IndependentArms
from tsgrad.problems.variations import changed
from tsgrad.registry import register
from tsgrad.streams import Noise


@register("uncertain-prior")
class UncertainPrior(IndependentArms):
    """Episodes of `base`, with parameters of its prior that are drawn anew for each: a row of `values` [M, P], one
    number for each field of `base` in their order, the same for all arms. Rewards have the noise of `base`.

    The truth of a `Misspecified` problem whose model is `base`: training on it does not trust a prior more than the
    data do that it was fitted on. Beliefs are those of `base`.

        >>> from tsgrad.problems import BernoulliBandit
        >>> UncertainPrior(base=BernoulliBandit(arms=3), values=[[1.0, 1.0], [2.0, 8.0]]).arms
        3
    """

    exact_posterior: ClassVar[bool] = False
    ordered_worlds: ClassVar[bool] = True

    base: IndependentArms
    values: Leaf

    def __init__(self, *, base: IndependentArms, values: Any) -> None:
        check_type("base", base, IndependentArms, remedy="such as tsgrad.BernoulliBandit(arms=3)")
        if not base.ordered_worlds:
            raise BadInput(f"base must have worlds that are ordered, got {type(base).__name__}")
        self.base, self.values = base, check_array("values", values)
        columns = self.columns
        if self.values.ndim != 2 or self.values.shape[1] != len(columns):
            raise BadInput(f"values must have one column for each of {', '.join(columns)}, got {self.values.shape}")

    @property
    def columns(self) -> list[str]:
        """The field of `base` that each column of `values` is for: those with one number per arm, in their order."""
        names = [field.name for field in dataclasses.fields(self.base)]
        return [name for name in names if jnp.ndim(getattr(self.base, name)) == 1]

    @property
    def arms(self) -> int:
        return self.base.arms

    def draw_world(self, noise: Noise) -> Any:
        rows = jnp.asarray(self.values)
        # The row has a sub-address of its own, so that the world has the noise that it has without uncertainty.
        which = jnp.minimum(jnp.floor(noise.at(1, 1).uniform(0) * rows.shape[0]).astype(int), rows.shape[0] - 1)
        drawn = {name: jnp.full(self.arms, rows[which, number]) for number, name in enumerate(self.columns)}
        return changed(self.base, **drawn).draw_world(noise)

    def means(self, world: Any, context: Context) -> Float[Array, "K"]:
        return self.base.means(world, context)

    def reward(self, world: Any, context: Context, arm: Integer[Array, ""], noise: Noise) -> Float[Array, ""]:
        return self.base.reward(world, context, arm, noise)

    def prior(self, horizon: int) -> Any:
        return self.base.prior(horizon)

    def evidence(self, rewards: Float[Array, "K"]) -> Any:
        return self.base.evidence(rewards)

    def posterior(self, belief: Any) -> ProductLaw:
        return self.base.posterior(belief)

    def arm_moments(self, belief: Any, context: Context) -> ArmMoments:
        return self.base.arm_moments(belief, context)

    def strength(self, belief: Any, context: Context) -> Float[Array, "K"]:
        return self.base.strength(belief, context)
