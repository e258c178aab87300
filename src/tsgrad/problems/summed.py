"""Arms whose rewards can be drawn and learned from as sums, at the cost of one reward, however many there are."""

import abc
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from tsgrad.laws.counts import chi_square
from tsgrad.problems.base import IndependentArms
from tsgrad.streams import Noise


class Sums(NamedTuple):
    """Rewards of many users. Axes: [K] each, with others before it where there are several such sums.

    Attributes:
        users: how many users each arm has.
        total: the sum of their rewards.
        scatter: the sum of squared deviations from each arm's average, where it is known.

    """

    users: Float[Array, "*batch K"]
    total: Float[Array, "*batch K"]
    scatter: Float[Array, "*batch K"] | None


class SummedArms(IndependentArms):
    """Independent arms whose statistics can be had from sums of rewards.

    `tells_scatter` says whether its sums have a scatter, `needs_scatter` whether its beliefs ask for one: those of a
    model may come from sums of another truth.
    """

    tells_scatter: ClassVar[bool] = True
    needs_scatter: ClassVar[bool] = False

    @abc.abstractmethod
    def reward_sums(self, world: Any, count: Float[Array, "K"], noise: Noise) -> Sums:
        """Returns the sums of the rewards of `count` users of each arm, distributed as sums of single rewards are."""

    @abc.abstractmethod
    def reward_variances(self, world: Any) -> Float[Array, "K"]:
        """Returns the variance of a reward of each arm in a world."""

    @abc.abstractmethod
    def evidence_of_sums(self, sums: Sums) -> Any:
        """Returns what these sums add to the statistics of each arm; the structure of a belief.

        Linear in the users, their total, and scatter plus total^2 / users: what rewards say adds up.
        """


def normal_sums(mean: Float[Array, "K"], std: Float[Array, "K"], count: Float[Array, "K"], noise: Noise) -> Sums:
    """Sums of normal rewards: n mean + sqrt(n) std Z, and a scatter of std^2 times chi-square with n - 1 degrees."""
    arms = jnp.arange(mean.shape[0])
    return Sums(
        count,
        count * mean + jnp.sqrt(count) * std * noise.at(0).normal(arms),
        std**2 * chi_square(jnp.maximum(count - 1, 0), noise.at(1)),
    )
