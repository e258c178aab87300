"""What a law is: a distribution that worlds and pseudo-actions are drawn from.

A draw carries more than its value where the value alone would lose what its density needs: a normal draw its
standardised residual, a beta draw its logarithms. A density of a draw stays accurate in float32 however
concentrated the law is.
"""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tsgrad.streams import Noise


class Law(eqx.Module):
    """A distribution that worlds, values of arms, or arms themselves are drawn from."""

    @abc.abstractmethod
    def sample(self, noise: Noise) -> Any:
        """A draw, a deterministic function of the address."""

    @abc.abstractmethod
    def log_prob(self, pseudo_action: Any) -> Float[Array, ""]:
        """The log-density at a draw, differentiable in the parameters of the law with the draw held fixed."""


class ProductLaw(Law):
    """A law under which the arms are independent."""

    @abc.abstractmethod
    def arm_log_prob(self, pseudo_action: Any) -> Float[Array, "K"]:
        """Each arm's log-density at its part of the draw."""

    def log_prob(self, pseudo_action: Any) -> Float[Array, ""]:
        return jnp.sum(self.arm_log_prob(pseudo_action))


class Sides(NamedTuple):
    """Where the density of each arm is largest, and how far it matters to the left and to the right. Axes: [K] each."""

    mode: Float[Array, "K"]
    left: Float[Array, "K"]
    right: Float[Array, "K"]

    def marks(self, cuts: tuple[float, ...] = (0.3, 1.0)) -> Float[Array, "m K"]:
        """The mode and points on both sides of it, from left to right, at these shares of how far the law matters."""
        shares = np.array([*(-cut for cut in reversed(cuts)), 0.0, *cuts])[:, None]
        return self.mode + jnp.where(shares < 0, self.left, self.right) * jnp.asarray(shares, self.mode.dtype)


class InOrder(NamedTuple):
    """Marks on each arm's law, from left to right, and the arms' log-densities at any points. Axes: [mark, K].

    A law begins at its first mark and ends at its last, and between any two that follow each other its density is as
    hard to follow by a polynomial.

    Attributes:
        marks: of each arm, [mark, K].
        log_density: from points [n, K], or [n, 1] for all arms, to each arm's log-density there.

    """

    marks: Float[Array, "m K"]
    log_density: Callable[[Float[Array, "n #K"]], Float[Array, "n K"]]


class OrderedLaw(ProductLaw):
    """A product law whose draws have an `order` [K], by which arms are compared, and that knows what to expect of them
    above or below a threshold.

    Where the arm with the largest draw is played, that is all that the choice has to do with the draw of an arm, and
    the score of the draw can be replaced with what is expected of it: see `tsgrad.estimate.score`.
    """

    @abc.abstractmethod
    def expected_log_prob(self, threshold: Float[Array, "K"], below: Bool[Array, "K"]) -> Float[Array, "K"]:
        """Each arm's log-density, expected of a draw whose order is below or above a threshold.

        The expectation is over this very law, held fixed: the derivative is the expected score. Thresholds are
        infinite where there is nothing to compare with.
        """

    @abc.abstractmethod
    def in_order(self) -> InOrder:
        """The arms' laws along one line, on which they are in the order of their draws."""
