"""Contexts: the features of every arm, seen before each choice."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import Leaf
from tsgrad.checks import BadInput, check_array, check_count
from tsgrad.registry import register
from tsgrad.streams import Address, Noise, Purpose, Stream


class Contexts(eqx.Module):
    """A process of contexts, each the features [K, d] of the arms at one step. Subclass it for your own."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, int]:
        """(K, d)."""

    @abc.abstractmethod
    def draw(self, previous: Any, noise: Noise, t: Integer[Array, ""]) -> Float[Array, "K d"]:
        """The features at step t; `previous` are those of the step before, None at t = 1."""

    @abc.abstractmethod
    def check_horizon(self, horizon: int) -> None:
        """Raises BadInput if there are no contexts for this many steps."""


class Endless(Contexts):
    """Contexts that never run out."""

    def check_horizon(self, horizon: int) -> None:
        return None


@register("gaussian-contexts")
class GaussianContexts(Endless):
    """Features drawn anew at every step, independent and normal with standard deviation `std`.

    >>> GaussianContexts(arms=10, dimension=5).shape
    (10, 5)
    """

    arms: int = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    std: Leaf

    def __init__(self, *, arms: int, dimension: int, std: Any = 1.0) -> None:
        self.arms = check_count("arms", arms, least=1)
        self.dimension = check_count("dimension", dimension, least=1)
        self.std = check_array("std", std, above=0)
        if self.std.shape not in {(), (dimension,)}:
            raise BadInput(f"std must be one number or {dimension}, one per dimension, got shape {self.std.shape}")

    @property
    def shape(self) -> tuple[int, int]:
        return self.arms, self.dimension

    def draw(self, previous: Any, noise: Noise, t: Integer[Array, ""]) -> Float[Array, "K d"]:
        features = noise.normal(jnp.arange(self.arms * self.dimension)).reshape(self.shape)
        return jnp.asarray(self.std * features)


@register("given-contexts")
class GivenContexts(Contexts):
    """Features from an array [T, K, d]: step t sees the same contexts in every episode.

    >>> import numpy as np
    >>> GivenContexts(features=np.zeros((50, 10, 5))).shape
    (10, 5)
    """

    features: Leaf

    def __init__(self, *, features: Any) -> None:
        self.features = check_array("features", features)
        if self.features.ndim != 3 or 0 in self.features.shape:
            raise BadInput(f"features must have axes [T, K, d], got shape {self.features.shape}")

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.features.shape[1]), int(self.features.shape[2])

    def draw(self, previous: Any, noise: Noise, t: Integer[Array, ""]) -> Float[Array, "K d"]:
        return jnp.asarray(self.features)[t - 1]

    def check_horizon(self, horizon: int) -> None:
        if horizon > self.features.shape[0]:
            raise BadInput(
                f"features hold contexts for {self.features.shape[0]} steps, horizon is {horizon}:"
                " give contexts for every step, or a shorter horizon"
            )


class FunctionContexts(Endless):
    """Features from a function (noise, t) -> [K, d], written with jax.numpy; randomness comes from `noise` alone.

    It can't be written to disk: for that, make it a registered subclass of `Contexts`.

        >>> FunctionContexts(lambda noise, t: noise.uniform(jnp.arange(6)).reshape(3, 2)).shape
        (3, 2)
    """

    function: Callable[[Noise, Any], Any] = eqx.field(static=True)
    size: tuple[int, int] = eqx.field(static=True)

    def __init__(self, function: Callable[[Noise, Any], Any]) -> None:
        noise = Address.of(seed=0, purpose=Purpose.TRAINING).noise(Stream.CONTEXT)
        try:
            drawn = jax.eval_shape(function, noise, jnp.int32(1))
        except Exception as error:  # whatever it is that was handed in, it can't be called for features
            raise BadInput(f"features must be a function (noise, t) -> [K, d], got {function!r:.80}: {error}") from None
        if getattr(drawn, "ndim", None) != 2 or 0 in drawn.shape:
            raise BadInput(f"features must be a function that gives an array [K, d], got {drawn}")
        self.function, self.size = function, (drawn.shape[0], drawn.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        return self.size

    def draw(self, previous: Any, noise: Noise, t: Integer[Array, ""]) -> Float[Array, "K d"]:
        return jnp.asarray(self.function(noise, t), dtype=jnp.result_type(float))


def as_features(features: Any) -> Any:
    """What a user gives for features: an array [K, d] stays one, all else becomes a process of contexts."""
    if isinstance(features, Contexts):
        return features
    if callable(features):
        return FunctionContexts(features)
    array = check_array("features", features)
    if array.ndim == 3:
        return GivenContexts(features=array)
    if array.ndim != 2 or 0 in array.shape:
        raise BadInput(
            f"features must have axes [K, d], or [T, K, d] where they change over time, got shape {np.shape(array)}"
        )
    return array
