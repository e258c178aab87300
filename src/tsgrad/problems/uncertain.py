"""Arms whose prior is not certain: each episode has its own, one of several that data can't tell apart."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array, check_type
from tsgrad.laws import ProductLaw
from tsgrad.problems.base import ArmMoments, Context, IndependentArms
from tsgrad.problems.drifting import moved
from tsgrad.problems.variations import (
    changed,
    drift_spread,
    with_arms_taken,
    with_noise,
    with_shifted_means,
    with_strength,
)
from tsgrad.registry import register
from tsgrad.streams import Noise


class UncertainWorld(NamedTuple):
    """A world of `base`, and the row that it was drawn with [P]: it says what noise its rewards have, too."""

    drawn: Any
    row: Float[Array, "P"]

    @property
    def order(self) -> Float[Array, "K"]:
        """In which arms are, from the worst to the best."""
        order: Float[Array, K] = self.drawn.order
        return order


@register("uncertain-prior")
class UncertainPrior(IndependentArms):
    """Episodes of `base`, with parameters that are drawn anew for each: a row of `values` [M, P], one number for each
    field of `base` in their order, the same for all arms. That of its noise, if it has one, is what rewards have.

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

    def draw_world(self, noise: Noise) -> UncertainWorld:
        rows = jnp.asarray(self.values)
        # The row has a sub-address of its own, so that the world has the noise that it has without uncertainty.
        which = jnp.minimum(jnp.floor(noise.at(1, 1).uniform(0) * rows.shape[0]).astype(int), rows.shape[0] - 1)
        return UncertainWorld(self._with(rows[which]).draw_world(noise), rows[which])

    def _with(self, row: Float[Array, "P"]) -> IndependentArms:
        """The base with the parameters of a row."""
        drawn = {name: jnp.full(self.arms, row[number]) for number, name in enumerate(self.columns)}
        base: IndependentArms = changed(self.base, **drawn)
        return base

    def means(self, world: UncertainWorld, context: Context) -> Float[Array, "K"]:
        return self.base.means(world.drawn, context)

    def reward(
        self, world: UncertainWorld, context: Context, arm: Integer[Array, ""], noise: Noise
    ) -> Float[Array, ""]:
        return self._with(world.row).reward(world.drawn, context, arm, noise)

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


@moved.register
def _(world: UncertainWorld, shift: Float[Array, "K"]) -> UncertainWorld:
    return world._replace(drawn=moved(world.drawn, shift))


def _varied(problem: UncertainPrior, change: Callable[[Any], Any]) -> Any:
    """The same after a change of each of the priors; None where the base has none such.

    >>> from tsgrad.problems import PoissonBandit, with_strength
    >>> problem = UncertainPrior(base=PoissonBandit(arms=2), values=[[1.0, 2.0], [3.0, 4.0]])
    >>> with_strength(problem, 2.0).values
    array([[2., 4.],
           [6., 8.]])
    """
    base = change(problem.base)
    if base is None:
        return None
    values = []
    for row in np.asarray(problem.values):
        named = zip(problem.columns, row, strict=True)
        prior = change(changed(problem.base, **{name: np.full(problem.arms, value) for name, value in named}))
        values.append([float(getattr(prior, name)[0]) for name in problem.columns])
    return UncertainPrior(base=base, values=values)


@with_strength.register
def _(problem: UncertainPrior, factor: float) -> Any:
    return _varied(problem, lambda prior: with_strength(prior, factor))


@with_shifted_means.register
def _(problem: UncertainPrior, deviations: float) -> Any:
    return _varied(problem, lambda prior: with_shifted_means(prior, deviations))


@with_noise.register
def _(problem: UncertainPrior, factor: float) -> Any:
    return _varied(problem, lambda prior: with_noise(prior, factor))


@with_arms_taken.register
def _(problem: UncertainPrior, numbers: Any) -> UncertainPrior:
    return UncertainPrior(base=with_arms_taken(problem.base, numbers), values=problem.values)


@drift_spread.register
def _(problem: UncertainPrior) -> FloatArray:
    return drift_spread(problem.base)
