"""Shares: the chance of each arm to have the largest draw, for independent arms. Differentiable in their laws.

p_k is the integral of f_k prod_{j != k} F_j. Arms may be narrow and wide, near and far, all at once, and a rule must
see each of them. So panels lie between marks that every law sets by itself, around its mode and as far as it matters,
and Gauss's points lie in each panel. Distribution functions come from the densities at these very points, by
integrating the polynomials through them: no special function is needed, nor its derivative in a law's parameters, which
for the incomplete beta function JAX doesn't have.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tsgrad.laws.base import OrderedLaw


def largest_shares(law: OrderedLaw, available: Bool[Array, "K"] | None = None) -> Float[Array, "K"]:
    """The chance of each arm to have the largest draw among the available ones.

    Args:
        law: of independent arms, with K of them.
        available: which of them count; all where left out.

    Returns:
        The chances, which add up to one; right to 1e-7 in float64 and about 1e-5 in float32.

    >>> from tsgrad.laws import NormalLaw
    >>> print(largest_shares(NormalLaw(jnp.zeros(3), jnp.ones(3))).round(4))
    [0.3333 0.3333 0.3333]

    """
    kind = jnp.result_type(*jax.tree.leaves(law))
    rule = _LONG if kind == jnp.float64 else _SHORT
    marks, log_density = law.in_order(jnp.asarray(rule.cuts, kind))
    if available is not None:  # marks of arms that are not there would be points for nothing
        marks = jnp.where(available, marks, jnp.min(jnp.where(available, marks[0], jnp.inf)))
    ends = jnp.sort(marks.ravel())
    ends = jnp.append(ends[:-1][:: rule.stride], ends[-1])
    start, width = ends[:-1], jnp.diff(ends)
    points = start[:, None] + width[:, None] * jnp.asarray(rule.points, kind)  # [panel, point]
    density = jnp.exp(log_density(points.reshape(-1, 1))).reshape(*points.shape, -1)  # [panel, point, K]
    mass = width[:, None] * jnp.einsum("q,pqk->pk", jnp.asarray(rule.weights, kind), density, precision="highest")
    within = jnp.einsum("rq,pqk->prk", jnp.asarray(rule.up_to, kind), density, precision="highest")
    before = jnp.cumsum(mass, axis=0) - mass
    total = jnp.sum(mass, axis=0)
    if available is not None:  # no point may be near an arm that is not there
        total = jnp.where(available, total, 1)
    cdf = jnp.maximum(before[:, None] + width[:, None, None] * within, 0) / total
    if available is not None:
        cdf, density = jnp.where(available, cdf, 1), jnp.where(available, density, 0)
    others = _product_of_others(cdf)
    weights = width[:, None] * jnp.asarray(rule.weights, kind)
    chances = jnp.einsum("pq,pqk->k", weights, density * others, precision="highest") / total
    return chances / jnp.sum(chances)


def _product_of_others(factors: Float[Array, "*n K"]) -> Float[Array, "*n K"]:
    """For each entry the product of all others, from both sides: a quotient would have no derivative at zero."""
    one, last = jnp.ones_like(factors[..., :1]), factors.ndim - 1
    from_left = jax.lax.associative_scan(jnp.multiply, factors[..., :-1], axis=last)
    from_right = jax.lax.associative_scan(jnp.multiply, factors[..., 1:], axis=last, reverse=True)
    return jnp.concatenate([one, from_left], axis=-1) * jnp.concatenate([from_right, one], axis=-1)


class _Rule:
    """Marks of a law as shares of how far it matters, how many of them make a panel, and Gauss's rule in each."""

    def __init__(self, cuts: tuple[float, ...], stride: int, points: int) -> None:
        nodes, weights = np.polynomial.legendre.leggauss(points)
        self.cuts, self.stride = np.array(cuts), stride
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


_SHORT = _Rule((0.1, 0.22, 0.36, 0.55, 1.0), 5, 8)
_LONG = _Rule((0.08, 0.16, 0.25, 0.36, 0.5, 0.7, 1.0), 2, 12)
