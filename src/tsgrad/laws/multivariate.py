"""A normal law over vectors, in coordinates in which it stays well-conditioned however much is known."""

from typing import NamedTuple

import jax.numpy as jnp
import jax.scipy.stats as stats
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from tsgrad.laws.base import Law
from tsgrad.streams import Noise


class FramedDraw(NamedTuple):
    """A draw offset + frame (location + step). Axes: [d], `frame` [d, d].

    Kept in parts for the reason a normal draw is: what concentrates is the frame, and beside it the value alone
    would have no digits left for the step.
    """

    offset: Float[Array, "d"]
    frame: Float[Array, "d d"]
    location: Float[Array, "d"]
    step: Float[Array, "d"]

    @property
    def value(self) -> Float[Array, "d"]:
        return self.offset + self.frame @ (self.location + self.step)

    @property
    def order(self) -> Float[Array, "d"]:
        """What arms are compared by, where these are their values."""
        return self.value

    @classmethod
    def at(cls, value: Float[Array, "d"]) -> "FramedDraw":
        """The draw that has this value, where only the value is known."""
        nothing = jnp.zeros_like(value)
        return cls(value, jnp.zeros((value.shape[0], value.shape[0]), value.dtype), nothing, nothing)


class FramedNormalLaw(Law):
    """offset + frame g with g normal: mean `location`, precision U'U with U = `whitening`.

    Axes: [d], matrices [d, d], both upper triangular with positive diagonals. The frame takes all bad condition;
    meta-parameters move `location` and `whitening`, so that scores are computed among numbers of order one. Without a
    `whitening` it is the identity, and no system of equations is solved, which is most of the time of a decision.

        >>> law = FramedNormalLaw(jnp.zeros(2), 3 * jnp.eye(2), jnp.zeros(2), jnp.eye(2))
        >>> print(f"{law.log_prob(FramedDraw.at(jnp.array([3.0, 0.0]))):.4f}")  # N(0, 9 I)
        -4.5351
    """

    offset: Float[Array, "d"]
    frame: Float[Array, "d d"]
    location: Float[Array, "d"]
    whitening: Float[Array, "d d"] | None = None

    @property
    def mean(self) -> Float[Array, "d"]:
        """The expected value."""
        return self.offset + self.frame @ self.location

    @property
    def root(self) -> Float[Array, "d d"]:
        """A square root of the covariance: root root' is the covariance."""
        return self.frame if self.whitening is None else solve_triangular(self.whitening, self.frame.T, trans=1).T

    def sample(self, noise: Noise) -> FramedDraw:
        residual = noise.normal(jnp.arange(self.location.shape[0]))
        step = residual if self.whitening is None else solve_triangular(self.whitening, residual)
        return FramedDraw(self.offset, self.frame, self.location, step)

    def log_prob(self, pseudo_action: FramedDraw) -> Float[Array, ""]:
        # At the law that made the draw the frames cancel exactly, and the residual is recovered exactly.
        drawn = pseudo_action.location + pseudo_action.step
        elsewhere = (pseudo_action.offset - self.offset) + (pseudo_action.frame - self.frame) @ drawn
        moved = (pseudo_action.location - self.location) + pseudo_action.step
        residual = moved + solve_triangular(self.frame, elsewhere)
        log_volume = jnp.log(jnp.diagonal(self.frame))
        if self.whitening is not None:
            residual = self.whitening @ residual
            log_volume -= jnp.log(jnp.diagonal(self.whitening))
        return jnp.sum(stats.norm.logpdf(residual) - log_volume)
