"""Integrals for shares of normal arms, whose distribution functions and their derivatives are known: point by point.

In a loop over points a batch of decisions is one array of a few numbers an arm, all operations on which are vectorised;
arrays over points would be summed number by number, at several times the cost.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tsgrad.laws.normal import NormalLaw

LEAST = 1e-8  # where F is smaller, so is f: a bound costs the square of it, and keeps products of quotients finite


@jax.custom_vjp
def normal_chances(
    law: NormalLaw, available: Bool[Array, "K"] | None, points: Float[Array, "n"], weights: Float[Array, "n"]
) -> Float[Array, "K"]:
    """The integrals of f_k prod_{j != k} F_j over available arms, by a rule's points and weights.

    Their derivative goes through the distribution functions alone: integrated by parts, that of f_k is minus that of
    F_k times the derivative of all others' product. With r_k = f_k / F_k and P the product of all F, an integral
    moves by that of P r_k sum_j dF_j / F_j - P dF_k / F_k sum_j r_j: what one arm gains others lose.

        >>> law = NormalLaw(jnp.zeros(2), jnp.ones(2))
        >>> points, weights = jnp.linspace(-6, 6, 97), jnp.full(97, 12 / 96)
        >>> print(normal_chances(law, None, points, weights).round(4))
        [0.5 0.5]
    """

    def add(sums: Float[Array, "K"], point: Any) -> tuple[Float[Array, "K"], None]:
        _, rate, product = _at(law, available, *point)
        return sums + product * rate, None

    return jax.lax.scan(add, jnp.zeros_like(law.location), (points, weights))[0]


def _at(
    law: NormalLaw, available: Bool[Array, "K"] | None, point: Float[Array, ""], weight: Float[Array, ""]
) -> tuple[Float[Array, "K"], Float[Array, "K"], Float[Array, ""]]:
    """Of each arm the standardised point and f / F, and the product of all F, weighted."""
    z = (point - law.location) / law.scale
    cdf = jnp.maximum(0.5 + 0.5 * jax.lax.erf(z * np.sqrt(0.5)), LEAST)
    density = jnp.exp(-0.5 * z**2) * (np.sqrt(0.5 / np.pi) / law.scale)
    if available is not None:
        density, cdf = jnp.where(available, density, 0), jnp.where(available, cdf, 1)
    return z, density / cdf, weight * jnp.prod(cdf)


def _forward(law: Any, available: Any, points: Any, weights: Any) -> Any:
    return normal_chances(law, available, points, weights), (law, available, points, weights)


def _backward(kept: Any, slope: Float[Array, "K"]) -> Any:
    law, available, points, weights = kept

    def add(sums: Any, point: Any) -> Any:
        z, rate, product = _at(law, available, *point)
        # dF / F is minus f / F times what location and z times what scale move by.
        moved = product * rate * (jnp.sum(slope * rate) - slope * jnp.sum(rate))
        return NormalLaw(sums.location - moved, sums.scale - z * moved), None

    nothing = NormalLaw(jnp.zeros_like(law.location), jnp.zeros_like(law.scale))
    return jax.lax.scan(add, nothing, (points, weights))[0], None, None, None


normal_chances.defvjp(_forward, _backward)
