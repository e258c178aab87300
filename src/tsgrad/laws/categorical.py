"""A law over the arms themselves: each has a probability."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Integer

from tsgrad.laws.base import Law
from tsgrad.streams import Noise

_LARGEST_UNIFORM = 1 - 2.0**-24  # below one in float32: at one the race would last forever


class CategoricalLaw(Law):
    """Arm k with probability proportional to exp(logits_k), among those that are available. A draw is an arm.

    Axes: [K] each; `available` is None where all arms are.

        >>> law = CategoricalLaw(jnp.log(jnp.array([1.0, 3.0, 4.0])), jnp.array([True, True, False]))
        >>> print(jnp.exp(law.log_probabilities).round(2))
        [0.25 0.75 0.  ]
    """

    logits: Float[Array, "K"]
    available: Bool[Array, "K"] | None = None

    @property
    def log_probabilities(self) -> Float[Array, "K"]:
        """The logarithm of each arm's probability; minus infinity where it is not available."""
        return jax.nn.log_softmax(self._offered)

    def sample(self, noise: Noise) -> Integer[Array, ""]:
        """The first arm in a race: arm k, with a slot of its own, arrives after an Exponential(exp(logits_k)) time.

        Times come from the lower end of a uniform, where floats are dense, so that small ones keep their digits.
        """
        uniform = jnp.minimum(noise.uniform(jnp.arange(self.logits.shape[0])), _LARGEST_UNIFORM)
        return jnp.argmax(self._offered - jnp.log(-jnp.log1p(-uniform)))

    def log_prob(self, pseudo_action: Integer[Array, ""]) -> Float[Array, ""]:
        return self.log_probabilities[pseudo_action]

    @property
    def _offered(self) -> Float[Array, "K"]:
        return self.logits if self.available is None else jnp.where(self.available, self.logits, -jnp.inf)
