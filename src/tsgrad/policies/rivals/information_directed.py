"""Information-directed sampling: the least regret for what is learnt."""

from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.checks import check_choice
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.rivals.base import Rival, check_applies
from tsgrad.policies.rivals.best_arm_gaussian import gaussian_best_arm, gaussian_information
from tsgrad.problems import Bandit, GaussianBandit
from tsgrad.registry import register
from tsgrad.streams import Noise


@register("information-directed")
class InformationDirected(Memoryless, Rival):
    """Plays the mixture of two arms that minimises (expected shortfall)^2 / expected gain (Russo and Van Roy, 2018)."""

    problems: ClassVar[tuple[type, ...]] = (GaussianBandit,)

    gain: Literal["variance", "mutual"] = eqx.field(static=True)

    def __init__(self, gain: str = "variance") -> None:
        self.gain = check_choice("gain", gain, ("variance", "mutual"))  # type: ignore[assignment]

    def prepare(self, problem: Bandit, horizon: int) -> Policy:
        check_applies(self, problem)
        return self

    def act(
        self, model: Any, belief: Any, memory: None, context: Any, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        best = gaussian_best_arm(model.posterior(belief))
        mixture = best_mixture(best.shortfall, best.variance)
        return jnp.where(noise.uniform(0) <= mixture.probability, mixture.first, mixture.second)


class Mixture(NamedTuple):
    """The first arm with a probability, else the second."""

    first: Integer[Array, ""]
    second: Integer[Array, ""]
    probability: Float[Array, ""]


def best_mixture(shortfall: Float[Array, "K"], gain: Float[Array, "K"]) -> Mixture:
    """The mixture with the least (expected shortfall)^2 / expected gain; two arms are enough.

    For arms 1 and 2 with shortfalls d and gains g the ratio has its minimum inside at the probability
    d_2 / (d_1 - d_2) - 2 g_2 / (g_1 - g_2) of the first, if at all; else one of them alone is as good. Where nothing can
    be gained, the least shortfall is played.

        >>> mixture = best_mixture(jnp.array([1.0, 2.0]), jnp.array([0.1, 1.0]))
        >>> print([round(float(field), 3) for field in mixture])
        [0.0, 1.0, 0.222]
    """
    smallest = jnp.finfo(gain.dtype).tiny
    # In units of the largest, so that squares of small numbers don't vanish
    shortfall = shortfall / jnp.maximum(jnp.max(shortfall), smallest)
    gain = gain / jnp.maximum(jnp.max(gain), smallest)
    slope, rise = shortfall[:, None] - shortfall, gain[:, None] - gain
    inside = (slope != 0) & (rise != 0)
    first = shortfall / jnp.where(inside, slope, 1.0) - 2 * gain / jnp.where(inside, rise, 1.0)
    first = jnp.where(inside, jnp.clip(first, 0.0, 1.0), 1.0)
    lost = shortfall + first * slope
    learnt = gain + first * rise
    ratio = jnp.where(learnt > 0, lost**2 / jnp.where(learnt > 0, learnt, 1.0), jnp.inf)
    ratio = jnp.where(lost > 0, ratio, 0.0)
    pair = jnp.divmod(jnp.argmin(ratio), gain.shape[0])
    least = jnp.argmin(shortfall)
    nothing = ~jnp.isfinite(ratio[pair])
    return Mixture(
        jnp.where(nothing, least, pair[0]),
        jnp.where(nothing, least, pair[1]),
        first[pair],
    )
