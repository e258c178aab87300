"""Beta laws of independent arms."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.special as special
from jaxtyping import Array, Bool, Float

from tsgrad.laws.base import InOrder, OrderedLaw
from tsgrad.laws.gamma import log_gamma_ratio
from tsgrad.laws.truncated import sides, truncated_nodes
from tsgrad.streams import Noise


class BetaDraw(NamedTuple):
    """A draw x in (0, 1), one per arm, as log x and log(1 - x): in float32 x itself rounds to 1. Axes: [K] each."""

    log_value: Float[Array, "K"]
    log_complement: Float[Array, "K"]

    @property
    def value(self) -> Float[Array, "*batch K"]:
        return jnp.exp(self.log_value)

    @property
    def order(self) -> Float[Array, "*batch K"]:
        """The logit of x, which tells draws apart that round to 0 or to 1."""
        return self.log_value - self.log_complement

    @classmethod
    def at(cls, value: Float[Array, "K"]) -> "BetaDraw":
        """The draw that has this value, where only the value is known."""
        return cls(jnp.log(value), jnp.log1p(-value))


class BetaLaw(OrderedLaw):
    """Independent beta arms.

    >>> law = BetaLaw(jnp.array([2.0]), jnp.array([1.0]))
    >>> print(f"{jnp.exp(law.log_prob(BetaDraw.at(jnp.array([0.25])))):.3f}")
    0.500
    """

    alpha: Float[Array, "K"]
    beta: Float[Array, "K"]

    def sample(self, noise: Noise) -> BetaDraw:
        logit = log_gamma_ratio(self.alpha, self.beta, noise)
        return BetaDraw(jax.nn.log_sigmoid(logit), jax.nn.log_sigmoid(-logit))

    def arm_log_prob(self, pseudo_action: BetaDraw) -> Float[Array, "K"]:
        return (
            (self.alpha - 1) * pseudo_action.log_value
            + (self.beta - 1) * pseudo_action.log_complement
            - log_beta(self.alpha, self.beta)
        )

    def expected_log_prob(self, threshold: Float[Array, "K"], below: Bool[Array, "K"]) -> Float[Array, "K"]:
        # As laws of the logit y, with log-density alpha log s(y) + beta log s(-y), s the sigmoid. The density of a
        # draw is linear in its logarithms, so that their expectations are all that is needed.
        logit, weight = truncated_nodes(*jax.lax.stop_gradient(self)._of_logit, threshold, below)
        expected = BetaDraw(
            jnp.sum(weight * jax.nn.log_sigmoid(logit), axis=0), jnp.sum(weight * jax.nn.log_sigmoid(-logit), axis=0)
        )
        return self.arm_log_prob(expected)

    def in_order(self) -> InOrder:
        normaliser = log_beta(self.alpha, self.beta)
        return InOrder(
            sides(*jax.lax.stop_gradient(self)._of_logit).marks(),
            lambda y: self.alpha * jax.nn.log_sigmoid(y) + self.beta * jax.nn.log_sigmoid(-y) - normaliser,
        )

    @property
    def _of_logit(self) -> tuple[Any, Any, Any, Any]:
        """Rise, slope, mode and curvature of the log-density of the logit."""
        alpha, beta = self.alpha, self.beta
        return (
            lambda y, step: alpha * _log_sigmoid_rise(y, step) + beta * _log_sigmoid_rise(-y, -step),
            lambda y: alpha * jax.nn.sigmoid(-y) - beta * jax.nn.sigmoid(y),
            jnp.log(alpha / beta),
            alpha * (beta / (alpha + beta)),
        )


def _log_sigmoid_rise(y: Float[Array, "K"], step: Float[Array, "*n K"]) -> Float[Array, "*n K"]:
    """Log s(y + step) - log s(y) for the sigmoid s, which keeps its digits where the step is small."""
    near = jnp.clip(step, -1, 1)
    return -jnp.where(
        jnp.abs(step) < 1,
        jnp.log1p(jax.nn.sigmoid(-y) * jnp.expm1(-near)),
        jnp.logaddexp(jax.nn.log_sigmoid(y), jax.nn.log_sigmoid(-y) - step),
    )


@jax.custom_jvp
def log_beta(alpha: Float[Array, "K"], beta: Float[Array, "K"]) -> Float[Array, "K"]:
    """The logarithm of the beta function, with the derivative of its definition.

    JAX's own derivative is NaN where both arguments are small, and right to six digits only elsewhere.
    """
    return special.betaln(alpha, beta)


@log_beta.defjvp
def _(arguments: Any, tangents: Any) -> Any:
    alpha, beta = arguments
    slope = -_digamma_gap(alpha, beta) * tangents[0] - _digamma_gap(beta, alpha) * tangents[1]
    return log_beta(alpha, beta), slope


def _digamma_gap(x: Float[Array, "K"], y: Float[Array, "K"]) -> Float[Array, "K"]:
    """digamma(x + y) - digamma(x), without the cancellation that float32 can't afford where x is large."""
    large = jnp.where(x >= 8, x, 8.0)
    by_series = jnp.log1p(y / large) + _digamma_tail(large) - _digamma_tail(large + y)
    return jnp.where(x >= 8, by_series, special.digamma(x + y) - special.digamma(x))


def _digamma_tail(x: Float[Array, "K"]) -> Float[Array, "K"]:
    """Log x - digamma(x), by its asymptotic series, to rounding for x >= 8."""
    square = 1 / x**2
    coefficients = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    return 0.5 / x + square * jnp.polyval(jnp.asarray(coefficients[::-1]), square)
