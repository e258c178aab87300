"""Binary rewards that depend on features: no closed-form posterior, the belief is the history."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float, Integer

from tsgrad.laws import FramedDraw
from tsgrad.problems.base import ArmMoments, Context
from tsgrad.problems.contexts import as_features
from tsgrad.problems.featured import FeaturedArms
from tsgrad.problems.normal_prior import Whitened, check_normal_prior, normal_prior_limits
from tsgrad.problems.precision import float32_limits
from tsgrad.registry import register
from tsgrad.streams import Noise

_MOST_STEPS = 30
# Trapezoidal rules, which converge exponentially for integrands as smooth as these: to 2e-5 on either side of _WIDE.
_WIDE = 2.0  # standard deviations of log-odds
_NORMAL_NODES = 0.42 * np.arange(-16, 17)
_LOGISTIC_NODES = 1.15 * np.arange(-16, 17)


class LogisticBelief(NamedTuple):
    """The history, and the mode of the posterior it implies. Axes: [T], `features` [T, d], `mode` [d].

    Features and mode are whitened: a step's log-odds are offsets + features u. Steps not yet taken are zero.
    """

    features: Float[Array, "T d"]
    offsets: Float[Array, "T"]
    outcomes: Float[Array, "T"]
    seen: Integer[Array, ""]
    mode: Float[Array, "d"]


@register("logistic")
class LogisticBandit(FeaturedArms):
    """K arms with rewards 0 or 1: P(reward = 1) = 1 / (1 + exp(-x_a' theta)), theta ~ N(prior_mean, covariance).

    Args:
        features: as in `LinearBandit`.
        prior_mean: of theta: one number, or [d].
        prior_covariance: of theta: one number, a diagonal [d], or [d, d].

    The posterior is Laplace's approximation: normal around its mode, with the curvature there. An episode keeps its T
    features, so that memory grows with T^2 where the beliefs of all steps are kept.

        >>> problem = LogisticBandit(features=[[1.0, 0.0], [0.0, 1.0]])
        >>> belief = problem.update(problem.prior(10), Context(), jnp.asarray(0), jnp.asarray(1.0))
        >>> print(*(f"{mean:.2f}" for mean in problem.posterior_means(belief, Context())))
        0.58 0.50

    """

    exact_posterior: ClassVar[bool] = False
    rewards: ClassVar[Literal["real", "binary", "count"]] = "binary"

    def __init__(self, *, features: Any, prior_mean: Any = 0.0, prior_covariance: Any = 1.0) -> None:
        self.features = as_features(features)
        self.prior_mean, self.prior_covariance = check_normal_prior(
            self.features.shape[1], prior_mean, prior_covariance
        )

    def means(self, world: FramedDraw, context: Context) -> Float[Array, "K"]:
        return jax.nn.sigmoid(self.arm_features(context) @ world.value)

    def reward(self, world: FramedDraw, context: Context, arm: Integer[Array, ""], noise: Noise) -> Float[Array, ""]:
        mean = self.mean(world, context, arm)
        return (noise.uniform(arm) < mean).astype(mean.dtype)

    def prior(self, horizon: int) -> LogisticBelief:
        self.check_horizon(horizon)
        dimension = self.prior_mean.shape[0]
        return LogisticBelief(
            jnp.zeros((horizon, dimension)),
            jnp.zeros(horizon),
            jnp.zeros(horizon),
            jnp.int32(0),
            jnp.zeros(dimension),
        )

    def update(
        self, belief: LogisticBelief, context: Context, arm: Integer[Array, ""], reward: Float[Array, ""]
    ) -> LogisticBelief:
        feature = self.arm_features(context)[arm]
        now = jnp.arange(belief.outcomes.shape[0]) == belief.seen
        longer = LogisticBelief(
            jnp.where(now[:, None], self.prior_root.T @ feature, belief.features),
            jnp.where(now, feature @ self.prior_mean, belief.offsets),
            jnp.where(now, reward, belief.outcomes),
            belief.seen + 1,
            belief.mode,
        )
        return longer._replace(mode=_mode(longer))

    def whitened(self, belief: LogisticBelief) -> Whitened:
        factor = jnp.linalg.cholesky(_curvature(belief, belief.mode))
        root = solve_triangular(factor, jnp.eye(factor.shape[0]), lower=True).T
        return Whitened(belief.mode, root)

    def arm_moments(self, belief: LogisticBelief, context: Context) -> ArmMoments:
        law, features = self.posterior(belief), self.arm_features(context)
        return ArmMoments(*_chance_moments(features @ law.mean, jnp.linalg.norm(features @ law.frame, axis=1)))

    def strength(self, belief: LogisticBelief, context: Context) -> Float[Array, "K"]:
        chance, std = self.arm_moments(belief, context)
        return chance * (1 - chance) / std**2


def _chance_moments(
    log_odds: Float[Array, "K"], spread: Float[Array, "K"]
) -> tuple[Float[Array, "K"], Float[Array, "K"]]:
    """Mean and standard deviation of 1 / (1 + exp(-x)), x normal with these means and standard deviations.

    Narrow laws are integrated over x. Beside a wide one the chance is a step, and sides are changed: the mean is
    P(L < x) for a logistic variable L, integrated over L; the mean square likewise, with the larger of two of them.
    """
    dtype = log_odds.dtype
    centre, narrow, wide = log_odds[:, None], jnp.minimum(spread, _WIDE), jnp.maximum(spread, _WIDE)
    nodes = jnp.asarray(_NORMAL_NODES, dtype)
    weights = jax.nn.softmax(-(nodes**2) / 2)
    chances = jax.nn.sigmoid(centre + narrow[:, None] * nodes)
    first = chances @ weights
    second = (chances - first[:, None]) ** 2 @ weights
    steps = jnp.asarray(_LOGISTIC_NODES, dtype)
    density = jax.nn.sigmoid(steps) * jax.nn.sigmoid(-steps)
    density = density / jnp.sum(density)
    larger = density * jax.nn.sigmoid(steps)
    larger = larger / jnp.sum(larger)
    below = jax.scipy.special.ndtr((centre - steps) / wide[:, None])
    is_wide = spread > _WIDE
    beyond = below @ density
    variance = jnp.where(is_wide, below @ larger - beyond**2, second)
    return jnp.where(is_wide, beyond, first), jnp.sqrt(jnp.maximum(variance, 0))


def _curvature(belief: LogisticBelief, at: Float[Array, "d"]) -> Float[Array, "d d"]:
    """The second derivative of minus the log-posterior."""
    chance = jax.nn.sigmoid(belief.offsets + belief.features @ at)
    weighted = belief.features * (chance * (1 - chance))[:, None]
    return jnp.eye(at.shape[0]) + belief.features.T @ weighted


def _mode(belief: LogisticBelief) -> Float[Array, "d"]:
    """The mode of the posterior, by Newton's method from where it was before the last reward.

    Steps are damped by log(1 + r) / r, r = max |feature| |step|, with which logistic losses always go down (they
    are self-concordant in the sense of Bach, 2010); near the mode that is Newton's own step.
    """
    longest = jnp.sqrt(jnp.max(jnp.sum(belief.features**2, axis=1)))
    precise_enough = 1e-9 if belief.mode.dtype == jnp.float32 else 1e-22  # squared, in posterior standard deviations

    def unfinished(state: tuple[Any, Any, Any]) -> Any:
        step, _, decrement = state
        return (step < _MOST_STEPS) & (decrement > precise_enough)

    def improve(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        step, at, _ = state
        # outcome - chance, without the rounding of a chance near one; features of steps not yet taken are zero
        signs = 2 * belief.outcomes - 1
        missed = signs * jax.nn.sigmoid(-signs * (belief.offsets + belief.features @ at))
        slope = at - belief.features.T @ missed
        towards = cho_solve((jnp.linalg.cholesky(_curvature(belief, at)), True), slope)
        reach = longest * jnp.linalg.norm(towards)
        damping = jnp.where(reach > 0, jnp.log1p(reach) / jnp.where(reach > 0, reach, 1), 1)
        return step + 1, at - damping * towards, slope @ towards

    start = (jnp.int32(0), belief.mode, jnp.asarray(jnp.inf, belief.mode.dtype))
    return jax.lax.while_loop(unfinished, improve, start)[1]


@float32_limits.register
def _(problem: LogisticBandit) -> Iterator[str]:
    return normal_prior_limits(problem)
