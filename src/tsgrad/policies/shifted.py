"""Laws whose parameters are moved by unconstrained numbers; at zero a law stays as it is."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tsgrad.checks import BadInput
from tsgrad.laws import BetaLaw, FramedNormalLaw, GammaLaw, Law, NormalGammaLaw, NormalLaw

BOUND = 8.0  # of logarithms: factors of 3,000, which float32 can bear


@functools.singledispatch
def shifted(law: Any, shift: Float[Array, "M"]) -> Any:
    """The law moved by as many numbers as `shift_width` says. A law of your own gets it with `@shifted.register`.

    >>> law = shifted(NormalLaw(jnp.zeros(1), jnp.ones(1)), jnp.array([2.0, 0.0]))
    >>> float(law.location[0]), float(law.scale[0])
    (2.0, 1.0)
    """
    raise BadInput(f"{type(law).__name__} can't be moved by a network: say how with @tsgrad.policies.shifted.register")


@shifted.register
def _(law: NormalLaw, shift: Float[Array, "M"]) -> NormalLaw:
    steps, logs = jnp.split(shift, 2)
    return NormalLaw(law.location + law.scale * steps, law.scale * _factor(logs))


@shifted.register
def _(law: FramedNormalLaw, shift: Float[Array, "M"]) -> FramedNormalLaw:
    steps, logs = jnp.split(shift, 2)
    whitening = jnp.eye(steps.shape[0]) if law.whitening is None else law.whitening
    return FramedNormalLaw(law.offset, law.frame, law.location + steps, whitening * _factor(-logs))


@shifted.register
def _(law: BetaLaw, shift: Float[Array, "M"]) -> BetaLaw:
    first, second = jnp.split(shift, 2)
    return BetaLaw(law.alpha * _factor(first), law.beta * _factor(second))


@shifted.register
def _(law: GammaLaw, shift: Float[Array, "M"]) -> GammaLaw:
    first, second = jnp.split(shift, 2)
    return GammaLaw(law.shape * _factor(first), law.rate * _factor(second))


@shifted.register
def _(law: NormalGammaLaw, shift: Float[Array, "M"]) -> NormalGammaLaw:
    steps, logs = jnp.split(shift, 2)
    scale = jnp.sqrt(law.rate / (law.shape * law.weight))
    return NormalGammaLaw(law.location + scale * steps, law.weight * _factor(-2 * logs), law.shape, law.rate)


def shift_width(law: Law) -> int:
    """How many numbers move a law: two for each entry of its first parameter."""
    return 2 * int(jax.tree.leaves(law)[0].shape[0])


def _factor(logarithm: Float[Array, "..."]) -> Float[Array, "..."]:
    return jnp.exp(jnp.clip(logarithm, -BOUND, BOUND))
