"""Which arm is best, from draws of the posterior: for arms that are not independent."""

from typing import Any

import jax
import jax.numpy as jnp

from tsgrad.policies.rivals.best_arm import BestArm, moved_variance
from tsgrad.streams import Noise

_DRAWS = 512


def sampled_best_arm(model: Any, belief: Any, context: Any, noise: Noise) -> BestArm:
    """From 512 draws, each at a sub-address of its own; means are those of the draws, so that deviations add up."""
    law = model.posterior(belief)
    draws = jax.vmap(lambda number: model.means(law.sample(noise.at(number)), context))(jnp.arange(1, _DRAWS + 1))
    mean = jnp.mean(draws, axis=0)
    best = jax.nn.one_hot(jnp.argmax(draws, axis=1), model.arms, dtype=draws.dtype)
    probability = jnp.mean(best, axis=0)
    moved = best.T @ (draws - mean) / _DRAWS
    return BestArm(probability, jnp.mean(jnp.max(draws, axis=1)) - mean, moved_variance(probability, moved))
