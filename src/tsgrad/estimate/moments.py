"""Mean and spread of a sample, block by block, without loss of digits."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float


class Moments(NamedTuple):
    """Count, mean, and sum of squared deviations from it. Any axes, the same for `mean` and `spread`."""

    count: Any
    mean: Any
    spread: Any

    @classmethod
    def of(cls, values: Float[Array, "B *rest"], real: Bool[Array, "B"]) -> "Moments":
        """Moments over the first axis of the values that are real."""
        kept = real.reshape(real.shape + (1,) * (values.ndim - 1))
        count = jnp.sum(real)
        mean = jnp.sum(jnp.where(kept, values, 0), axis=0) / jnp.maximum(count, 1)
        return cls(count, mean, jnp.sum(jnp.where(kept, (values - mean) ** 2, 0), axis=0))

    def add(self, other: "Moments") -> "Moments":
        """Moments of both samples together, in float64 (Chan, Golub and LeVeque, 1979)."""
        count = self.count + int(other.count)
        step = np.asarray(other.mean, np.float64) - self.mean
        mean = self.mean + step * (int(other.count) / count)
        spread = self.spread + other.spread + step**2 * (self.count * int(other.count) / count)
        return Moments(count, mean, spread)

    @property
    def standard_error(self) -> Any:
        """Of the mean; infinite for a sample of one."""
        return np.sqrt(self.spread / (self.count - 1) / self.count) if self.count > 1 else self.spread + np.inf


NOTHING = Moments(0, 0.0, 0.0)
