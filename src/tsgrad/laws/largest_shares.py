"""Shares: the chance of each arm to have the largest draw, for independent arms. Differentiable in their laws.

p_k is the integral of f_k prod_{j != k} F_j. Arms may be narrow and wide, near and far, all at once, and a rule must
see each of them. Below the largest of all left ends the largest draw never lies; above it an arm matters as far as its
own right end. So panels begin there, each as long as the narrowest of the arms that matter there asks for, and Gauss's
points lie in each panel: a few dozen in all, whatever the number of arms.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tsgrad.laws.base import OrderedLaw
from tsgrad.laws.normal import NormalLaw
from tsgrad.laws.normal_shares import LEAST, normal_chances


def largest_shares(law: OrderedLaw, available: Bool[Array, "K"] | None = None) -> Float[Array, "K"]:
    """The chance of each arm to have the largest draw among the available ones.

    Args:
        law: of independent arms, with K of them.
        available: which of them count; all where left out.

    Returns:
        The chances, which add up to one; right to 1e-7 in float64 and about 1e-6 in float32.

    >>> from tsgrad.laws import NormalLaw
    >>> print(largest_shares(NormalLaw(jnp.zeros(3), jnp.ones(3))).round(4))
    [0.3333 0.3333 0.3333]

    """
    kind = jnp.result_type(*jax.tree.leaves(law))
    rule = _LONG if kind == jnp.float64 else _SHORT
    if isinstance(law, NormalLaw):  # differences of locations have digits left that a narrow law far from zero needs
        law = NormalLaw(law.location - jax.lax.stop_gradient(jnp.max(law.location)), law.scale)
    in_order = law.in_order()
    ends = _panels(in_order.marks, available, rule.panels(*in_order.marks.shape))
    width = jnp.diff(ends)[:, None]
    points, weights = ends[:-1, None] + width * jnp.asarray(rule.points, kind), width * jnp.asarray(rule.weights, kind)
    if isinstance(law, NormalLaw):
        chances = normal_chances(law, available, points.ravel(), weights.ravel())
    else:
        # Computed again on the way back: arms at all points are too many numbers to keep for every step.
        chances = jax.checkpoint(_from_densities, static_argnums=0)(rule, law, available, points, weights)
    return chances / jax.lax.stop_gradient(jnp.sum(chances))


def _panels(marks: Float[Array, "m K"], available: Bool[Array, "K"] | None, panels: int) -> Float[Array, "ends"]:
    """Ends of panels, from where the largest draw may lie to where all arms end.

    Between two of its marks an arm asks for a given number of panels, the same for all of its gaps. Where several arms
    matter, the one that asks for most decides, and what all ask for together is scaled to the panels there are.
    """
    asked = 1 / jnp.maximum(jnp.diff(marks, axis=0), 1e-30)  # [gap, K]
    low = jnp.max(marks[0] if available is None else jnp.where(available, marks[0], -jnp.inf))
    if available is not None:
        marks, asked = jnp.where(available, marks, low), jnp.where(available, asked, 0)
    marks = jnp.maximum(marks, low)
    stops = jnp.sort(marks[1:].ravel())
    starts = jnp.concatenate([low[None], stops[:-1]])
    # By the middle of each interval: ends may be computed anew, with a last bit that differs from that of the marks.
    middle = ((starts + stops) / 2)[:, None, None]
    covers = (marks[:-1] < middle) & (middle < marks[1:])
    density = jnp.max(jnp.where(covers, asked, 0), axis=(1, 2))
    length = (stops - starts) * density
    until = jnp.cumsum(length)
    wanted = until[-1] * jnp.asarray(np.linspace(0, 1, panels + 1), until.dtype)
    inside = jnp.clip(wanted[:, None] - (until - length), 0, length)
    return low + jnp.sum(jnp.where(density > 0, inside / jnp.where(density > 0, density, 1), 0), axis=1)


def _from_densities(
    rule: "_Rule",
    law: OrderedLaw,
    available: Bool[Array, "K"] | None,
    points: Float[Array, "p q"],
    weights: Float[Array, "p q"],
) -> Float[Array, "K"]:
    """The integrals from densities alone: distribution functions are those of the polynomials through the densities.

    No special function is needed, nor its derivative in a law's parameters, which for the incomplete beta function JAX
    doesn't have. What lies below the first panel is integrated between each arm's own marks.
    """
    marks, log_density = law.in_order()
    kind, arms = points.dtype, marks.shape[1]
    at, share = jnp.asarray(rule.points, kind), jnp.asarray(rule.weights, kind)
    width = jnp.sum(weights, axis=1)[:, None, None]
    cut = jnp.minimum(marks, points[0, 0] - width[0, 0, 0] * at[0])
    gaps = jnp.diff(cut, axis=0)[:, None]  # [gap, 1, K]
    inside = cut[:-1, None] + gaps * at[:, None]  # [gap, point, K]
    below = jnp.exp(log_density(inside.reshape(-1, arms))).reshape(inside.shape)
    mass_below = jnp.sum(gaps * share[:, None] * below, axis=(0, 1))
    density = jnp.exp(log_density(points.reshape(-1, 1))).reshape(*points.shape, arms)
    mass = jnp.sum(weights[:, :, None] * density, axis=1)
    before = mass_below + jnp.cumsum(mass, axis=0) - mass
    within = width * jnp.einsum("rq,pqk->prk", jnp.asarray(rule.up_to, kind), density, precision="highest")
    total = mass_below + jnp.sum(mass, axis=0)
    cdf = ((before[:, None] + within) / total).reshape(-1, arms)
    density = jax.lax.stop_gradient(density / total).reshape(-1, arms)
    if available is not None:
        density, cdf = jnp.where(available, density, 0), jnp.where(available, cdf, 1)
    return _chances(jnp.maximum(cdf, LEAST), density, weights.ravel())


@jax.custom_jvp
def _chances(cdf: Float[Array, "n K"], density: Float[Array, "n K"], weights: Float[Array, "n"]) -> Float[Array, "K"]:
    """The integrals of f_k prod_{j != k} F_j; their derivative is as in `normal_chances`."""
    return jnp.sum((weights * jnp.prod(cdf, axis=1))[:, None] * (density / cdf), axis=0)


@_chances.defjvp
def _(arguments: Any, tangents: Any) -> Any:
    cdf, density, weights = arguments
    weights = (weights * jnp.prod(cdf, axis=1))[:, None]
    rate, moved = density / cdf, tangents[0] / cdf
    gain = rate * jnp.sum(moved, axis=1, keepdims=True) - moved * jnp.sum(rate, axis=1, keepdims=True)
    return jnp.sum(weights * rate, axis=0), jnp.sum(weights * gain, axis=0)


class _Rule:
    """How many panels there are: at least, and for each gap between marks but an arm's first. Gauss's rule in each."""

    def __init__(self, least: int, more: float, points: int) -> None:
        nodes, weights = np.polynomial.legendre.leggauss(points)
        self.least, self.more = least, more
        self.points, self.weights = (1 + nodes) / 2, weights / 2
        # Row r: the integral from 0 to point r of the polynomials that are 1 at one point and 0 at the others.
        powers = np.polynomial.legendre.legvander(nodes, points - 1)
        integrals = np.stack(
            [
                np.polynomial.legendre.legval(nodes, np.polynomial.legendre.legint(unit, lbnd=-1))
                for unit in np.eye(points)
            ],
            axis=1,
        )
        self.up_to: Any = integrals @ np.linalg.inv(powers) / 2

    def panels(self, marks: int, arms: int) -> int:
        """The number of panels for arms with so many marks each."""
        return self.least + int(np.ceil(self.more * (marks - 2) * arms))


_SHORT = _Rule(6, 0.13, 8)
_LONG = _Rule(14, 0.6, 12)
