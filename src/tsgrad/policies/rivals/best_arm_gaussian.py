"""Which of several independent normal arms is best, by quadrature in one dimension.

With densities f, distribution functions F, D = prod F and h = f / F, everything is an integral of h_i D or h_i h_j D:

    P(A* = i) = int h_i D,    P(A* = i) (E[theta_j | A* = i] - m_j) = -s_j^2 int h_i h_j D    (i != j),

and the same for j = i from the fact that the deviations of an arm add up to zero over i.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.policies.rivals.best_arm import BestArm, entropy, moved_variance
from tsgrad.problems import NormalLaw

_REACH = 6.0  # standard deviations, beyond which no arm is looked for
_BREAKS = (-4.0, -1.3, 1.3, 4.0)  # standard deviations; between two of them, of any arm, integrands are smooth
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
_OUTCOMES, _CHANCES = np.polynomial.hermite_e.hermegauss(16)


def gaussian_best_arm(law: NormalLaw) -> BestArm:
    """Probabilities, shortfalls and variances, each within about 1e-4 of its scale.

    >>> best = gaussian_best_arm(NormalLaw(jnp.zeros(2), jnp.array([1.0, 1.0])))
    >>> print([field.round(4).tolist() for field in best])  # E max = 1 / sqrt(pi), v = 1 / pi
    [[0.5, 0.5], [0.5642, 0.5642], [0.3183, 0.3183]]
    """
    leader = jnp.argmax(law.location)
    mean = law.location - law.location[leader]
    x, weight = _nodes(mean, law.scale)
    hazard, below = _hazard(x, mean, law.scale)
    best = hazard * below * weight  # its integral over x is P(A* = i)
    probability = jnp.sum(best, axis=1)
    crossed = jnp.where(jnp.eye(mean.shape[0], dtype=bool), 0.0, best @ hazard.T)
    moved = -crossed * law.scale**2 + jnp.diag(jnp.sum(crossed, axis=0) * law.scale**2)
    # E max - m of the leader is the sum of P(A* = i) (E[theta_i - theta_leader | A* = i]) over the others: small terms,
    # not a small difference.
    others = jnp.arange(mean.shape[0]) != leader
    least = jnp.sum(jnp.where(others, jnp.sum(best * x, axis=1) - moved[:, leader], 0.0))
    shortfall = jnp.maximum(least, 0.0) - mean
    return BestArm(probability, shortfall, moved_variance(probability, moved))


def gaussian_information(law: NormalLaw, noise_std: Float[Array, "K"]) -> Float[Array, "K"]:
    """The mutual information of A* and the next reward of each arm, in nats.

    It is the entropy of A* minus what is left of it on average once that reward was seen: a reward moves the arm's
    mean by a normal amount and leaves it with less variance, so that only its own distribution function changes.
    """
    mean = law.location - jnp.max(law.location)
    arms = jnp.arange(mean.shape[0])
    precision = law.scale**-2 + noise_std**-2
    later_scale = precision**-0.5
    step = law.scale / noise_std * later_scale
    x, weight = _nodes(mean, jnp.maximum(law.scale, 0.0))
    hazard, _ = _hazard(x, mean, law.scale)
    log_below = jnp.log(jnp.maximum(_cdf((x - mean[:, None]) / law.scale[:, None]), jnp.finfo(x.dtype).tiny))

    def after(arm: Array) -> Float[Array, ""]:
        """The entropy that is left once a reward of this arm was seen."""
        others = jnp.exp(jnp.sum(jnp.where(arms[:, None] == arm, 0.0, log_below), axis=0)) * weight
        outcomes = mean[arm] + step[arm] * _OUTCOMES
        own = _cdf((x[:, None] - outcomes) / later_scale[arm])
        probability = (hazard * others) @ own
        own_probability = jnp.maximum(1 - jnp.sum(jnp.where(arms[:, None] == arm, 0.0, probability), axis=0), 0.0)
        probability = jnp.where(arms[:, None] == arm, own_probability, probability)
        return jnp.sum(entropy(probability.T) * (_CHANCES / _CHANCES.sum()))

    return jnp.maximum(0.0, jax.vmap(after)(arms))


def _nodes(mean: Float[Array, "K"], scale: Float[Array, "K"]) -> tuple[Float[Array, "G"], Float[Array, "G"]]:
    """Points and weights of an integral over all values that the largest of the arms can have.

    Gauss-Legendre between breaks of every arm: a narrow arm beside wide ones is seen, wherever it is.
    """
    lowest, highest = jnp.max(mean - _REACH * scale), jnp.max(mean + _REACH * scale)
    breaks = jnp.ravel(mean[:, None] + scale[:, None] * jnp.asarray(_BREAKS))
    ends = jnp.concatenate([jnp.stack([lowest, highest]), jnp.clip(breaks, lowest, highest)])
    ends = jnp.sort(ends)
    half = jnp.diff(ends)[:, None] / 2
    return jnp.ravel(ends[:-1, None] + half * (1 + _NODES)), jnp.ravel(half * _WEIGHTS)


def _cdf(z: Float[Array, "..."]) -> Float[Array, "..."]:
    return jax.lax.erfc(z * -np.sqrt(0.5)) / 2


def _hazard(
    x: Float[Array, "G"], mean: Float[Array, "K"], scale: Float[Array, "K"]
) -> tuple[Float[Array, "K G"], Float[Array, "G"]]:
    """h_i(x) = f_i / F_i and D(x) = prod F_i; h is 0 where F is too small to matter."""
    z = (x - mean[:, None]) / scale[:, None]
    below = _cdf(z)
    seen = below > jnp.finfo(x.dtype).tiny
    density = jnp.exp(-(z**2) / 2) / (np.sqrt(2 * np.pi) * scale[:, None])
    return jnp.where(seen, density / jnp.where(seen, below, 1.0), 0.0), jnp.prod(below, axis=0)
