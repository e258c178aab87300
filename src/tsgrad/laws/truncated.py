"""Laws cut off at a threshold, by quadrature: what is expected of a draw that is known to lie below or above it."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tsgrad.laws.base import Sides

_NEWTON_STEPS = 8  # double the digits once they are near; a window that is a little too wide costs nothing


def truncated_nodes(
    rise: Callable[[Any, Any], Any],
    slope: Callable[[Any], Any],
    mode: Float[Array, "K"],
    curvature: Float[Array, "K"],
    threshold: Float[Array, "K"],
    below: Bool[Array, "K"],
) -> tuple[Float[Array, "n K"], Float[Array, "n K"]]:
    """Nodes and weights of a quadrature rule for expectations under log-concave laws, each cut off at a threshold.

    Gauss's rule on both sides of the point of largest density, from there to where the density is negligible or the
    threshold is reached. It adapts to the tails: deep in one, the window is as narrow as the mass. Laws change their
    shape over a few units of y and fall exponentially from there on, so that a long side has more nodes near the peak.

    Args:
        rise: (y, step) to the log-density at y + step less that at y.
        slope: the derivative of the log-density.
        mode: where it is largest.
        curvature: minus its second derivative there.
        threshold: where the laws are cut off.
        below: whether what lies below is kept, or what lies above.

    Returns:
        Nodes and weights, the weights of each law adding up to one.

    >>> normal = (lambda y, step: -step * (y + step / 2), lambda y: -y, jnp.zeros(1), jnp.ones(1))
    >>> nodes, weights = truncated_nodes(*normal, threshold=jnp.array([0.0]), below=jnp.array([True]))
    >>> print(f"{jnp.sum(nodes * weights):.5f}")  # minus the square root of 2 / pi
    -0.79788

    """
    points, rule = _LONG_RULE if mode.dtype == jnp.float64 else _SHORT_RULE
    fall = _fall(mode)
    peak = jnp.where(below, jnp.minimum(threshold, mode), jnp.maximum(threshold, mode))
    start = _start(slope(peak), curvature, fall)
    left = _distance(lambda d: rise(peak, -d), lambda d: -slope(peak - d), start, fall)
    right = _distance(lambda d: rise(peak, d), lambda d: slope(peak + d), start, fall)
    # Beyond the threshold there is nothing; where it comes before the mode, the window ends at the threshold.
    beyond = jnp.where(jnp.where(below, threshold > mode, threshold < mode), jnp.abs(threshold - peak), 0)
    left = jnp.where(below, left, jnp.where(beyond > 0, jnp.minimum(left, beyond), 0))
    right = jnp.where(below, jnp.where(beyond > 0, jnp.minimum(right, beyond), 0), right)
    points, rule = jnp.asarray(points, mode.dtype)[:, None], jnp.asarray(rule, mode.dtype)[:, None]

    def graded(side: Float[Array, "K"]) -> tuple[Float[Array, "n K"], Float[Array, "n K"]]:
        grading = side / _LONG
        scale = side / (1 + grading)
        return scale * points * (1 + grading * points), scale * rule * (1 + 2 * grading * points)

    (to_left, of_left), (to_right, of_right) = graded(left), graded(right)
    steps = jnp.concatenate([-to_left, to_right])
    masses = jnp.concatenate([of_left, of_right]) * jnp.exp(rise(peak, steps))
    return peak + steps, masses / jnp.sum(masses, axis=0)


def sides(
    rise: Callable[[Any, Any], Any],
    slope: Callable[[Any], Any],
    mode: Float[Array, "K"],
    curvature: Float[Array, "K"],
) -> Sides:
    """How far log-concave laws matter on either side of their modes; what is asked for is as for `truncated_nodes`."""
    fall = _fall(mode)
    start = _start(jnp.zeros_like(mode), curvature, fall)
    return Sides(
        mode,
        _distance(lambda d: rise(mode, -d), lambda d: -slope(mode - d), start, fall),
        _distance(lambda d: rise(mode, d), lambda d: slope(mode + d), start, fall),
    )


def _fall(mode: Float[Array, "K"]) -> float:
    """By how much a log-density must have fallen for the rest to be less than rounding."""
    return 37.0 if mode.dtype == jnp.float64 else 17.0


def _start(slope: Float[Array, "K"], curvature: Float[Array, "K"], fall: float) -> Float[Array, "K"]:
    """About where a log-density has fallen by `fall`, if its slope changes as an exponential does.

    A parabola gives the second-order terms. Newton's method would come back from too far a start by one unit a step.
    """
    parabola = 2 * fall / (jnp.abs(slope) + jnp.sqrt(slope**2 + 2 * fall * curvature))
    return jnp.log1p(parabola * (1 + parabola / 2))


def _distance(fallen: Callable[[Any], Any], slope: Callable[[Any], Any], start: Any, fall: float) -> Float[Array, "K"]:
    """Where a concave function has fallen by `fall` from its value at zero.

    By Newton's method, whose tangents lie above the function: after the first step it comes from beyond.
    """

    def newton(_: Any, distance: Any) -> Any:
        return distance - (fallen(distance) + fall) / jnp.minimum(slope(distance), -1e-30)

    return jnp.asarray(jax.lax.fori_loop(0, _NEWTON_STEPS, newton, start))


def _rule(nodes: int) -> tuple[Any, Any]:
    """Gauss's rule on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(nodes)
    return (1 + points) / 2, weights / 2


_SHORT_RULE, _LONG_RULE = _rule(12), _rule(40)
_LONG = 20.0  # a side of this length has its nodes half as far apart near the peak as it would otherwise
