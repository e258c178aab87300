"""Linear rewards with normal noise: correlated arms, contexts, and the unit ball of actions."""

import abc
from collections.abc import Iterator
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array
from tsgrad.laws import FramedDraw
from tsgrad.problems.base import ArmMoments, Context
from tsgrad.problems.contexts import as_features
from tsgrad.problems.featured import FeaturedArms
from tsgrad.problems.normal_prior import NormalPrior, Whitened, check_normal_prior, normal_prior_limits
from tsgrad.problems.precision import float32_limits, within
from tsgrad.registry import register
from tsgrad.streams import Noise


class LinearRewards(NormalPrior):
    """Reward x'theta + noise, x the feature vector of the arm; the belief is the posterior itself, `Whitened`."""

    @abc.abstractmethod
    def feature(self, context: Context, arm: Any) -> Float[Array, "d"]:
        """The feature vector of an arm."""

    @abc.abstractmethod
    def arm_noise(self, arm: Any) -> Float[Array, ""]:
        """The standard deviation of an arm's noise."""

    def whitened(self, belief: Whitened) -> Whitened:
        return belief

    def update(self, belief: Whitened, context: Context, arm: Any, reward: Float[Array, ""]) -> Whitened:
        """Carlson's square-root update: the covariance is root root', hence never loses its definiteness.

        With f = root' x (x whitened), the root is multiplied by the upper triangular B with
        B B' = I - f f' / (f'f + sigma^2), whose entries are quotients of sums of squares: nothing cancels. The mean
        moves by the innovation, which corrects roundings too: they fade instead of adding up.
        """
        feature, noise = self.feature(context, arm), self.arm_noise(arm)
        whitened = self.prior_root.T @ feature
        seen = belief.root.T @ whitened
        after = noise**2 + jnp.cumsum(seen**2)
        before = jnp.concatenate([noise[None] ** 2, after[:-1]])
        weighted = belief.root * seen
        sums = jnp.cumsum(weighted, axis=1)
        innovation = reward - feature @ self.prior_mean - whitened @ belief.mean
        return Whitened(
            belief.mean + sums[:, -1] * (innovation / after[-1]),
            (before * belief.root - seen * (sums - weighted)) / jnp.sqrt(before * after),
        )

    def _nothing_seen(self) -> Whitened:
        dimension = self.prior_mean.shape[0]
        return Whitened(jnp.zeros(dimension), jnp.eye(dimension))


@register("linear")
class LinearBandit(LinearRewards, FeaturedArms):
    """K arms with rewards N(x_a' theta, noise_std_a^2) and theta ~ N(prior_mean, prior_covariance).

    Args:
        features: an array [K, d]: arms are correlated, and one pull teaches about all that share a direction. Or
            contexts, which change at every step: an array [T, K, d], a function (noise, t) -> [K, d], or a `Contexts`
            process such as `GaussianContexts`.
        prior_mean: of theta: one number, or [d].
        prior_covariance: of theta: one number, a diagonal [d], or [d, d].
        noise_std: the standard deviation of a reward around its expectation: one number, or one per arm.

    Raises:
        BadInput: if shapes do not fit together, or the covariance is not positive definite.

        >>> problem = LinearBandit(features=[[1.0, 0.0], [1.0, 1.0]], noise_std=0.5)
        >>> belief = problem.update(problem.prior(10), Context(), jnp.asarray(0), jnp.asarray(1.0))
        >>> print(*(f"{mean:.2f}" for mean in problem.posterior_means(belief, Context())))  # arm 1 learns from arm 0
        0.80 0.80

    """

    normal_arms: ClassVar[bool] = True

    noise_std: Leaf

    def __init__(
        self, *, features: Any, prior_mean: Any = 0.0, prior_covariance: Any = 1.0, noise_std: Any = 1.0
    ) -> None:
        self.features = as_features(features)
        arms, dimension = self.features.shape
        self.prior_mean, self.prior_covariance = check_normal_prior(dimension, prior_mean, prior_covariance)
        self.noise_std = check_noise(noise_std, arms)

    def feature(self, context: Context, arm: Integer[Array, ""]) -> Float[Array, "d"]:
        return self.arm_features(context)[arm]

    def arm_noise(self, arm: Integer[Array, ""]) -> Float[Array, ""]:
        return jnp.asarray(self.noise_std, jnp.result_type(float))[arm]

    def prior(self, horizon: int) -> Whitened:
        self.check_horizon(horizon)
        return self._nothing_seen()

    def means(self, world: FramedDraw, context: Context) -> Float[Array, "K"]:
        return self.arm_features(context) @ world.value

    def reward(self, world: FramedDraw, context: Context, arm: Integer[Array, ""], noise: Noise) -> Float[Array, ""]:
        return self.mean(world, context, arm) + self.arm_noise(arm) * noise.normal(arm)

    def arm_moments(self, belief: Whitened, context: Context) -> ArmMoments:
        features, law = self.arm_features(context), self.posterior(belief)
        return ArmMoments(features @ law.mean, jnp.linalg.norm(features @ law.root, axis=1))

    def strength(self, belief: Whitened, context: Context) -> Float[Array, "K"]:
        return jnp.asarray((self.noise_std / self.arm_moments(belief, context).std) ** 2)


@register("ball")
class BallBandit(LinearRewards):
    """Every vector of the unit ball is an arm: rewards N(a' theta, noise_std^2), theta ~ N(prior_mean, covariance).

    The best arm is theta / |theta|, on the sphere: for the sphere alone this is the same problem.

    Args:
        dimension: d; needed if both parameters of the prior are single numbers.
        prior_mean: of theta: one number, or [d].
        prior_covariance: of theta: one number, a diagonal [d], or [d, d].
        noise_std: the standard deviation of a reward around its expectation.

        >>> problem = BallBandit(dimension=2)
        >>> print(problem.best_arm(FramedDraw.at(jnp.array([3.0, 4.0])), Context()))
        [0.6 0.8]

    """

    noise_std: Leaf

    def __init__(
        self,
        *,
        dimension: int | None = None,
        prior_mean: Any = 0.0,
        prior_covariance: Any = 1.0,
        noise_std: Any = 1.0,
    ) -> None:
        self.prior_mean, self.prior_covariance = check_normal_prior(dimension, prior_mean, prior_covariance)
        self.noise_std = check_array("noise_std", noise_std, above=0)
        if self.noise_std.shape:
            raise BadInput(f"noise_std must be one number, the same for every arm, got shape {self.noise_std.shape}")

    def feature(self, context: Context, arm: Float[Array, "d"]) -> Float[Array, "d"]:
        return arm

    def arm_noise(self, arm: Float[Array, "d"]) -> Float[Array, ""]:
        return jnp.asarray(self.noise_std, arm.dtype)

    def draw_context(self, previous: Context | None, noise: Noise, t: Integer[Array, ""]) -> Context:
        return Context()

    def prior(self, horizon: int) -> Whitened:
        return self._nothing_seen()

    def mean(self, world: FramedDraw, context: Context, arm: Float[Array, "d"]) -> Float[Array, ""]:
        return world.value @ arm

    def best_arm(self, world: FramedDraw, context: Context) -> Float[Array, "d"]:
        length = jnp.linalg.norm(world.value)
        return world.value / jnp.where(length > 0, length, 1)

    def posterior_mean(self, belief: Whitened, context: Context, arm: Float[Array, "d"]) -> Float[Array, ""]:
        return self.posterior(belief).mean @ arm

    def reward(self, world: FramedDraw, context: Context, arm: Float[Array, "d"], noise: Noise) -> Float[Array, ""]:
        return self.mean(world, context, arm) + self.arm_noise(arm) * noise.normal(0)

    def reward_beside(
        self,
        world: FramedDraw,
        context: Context,
        arm: Float[Array, "d"],
        noise: Noise,
        seen_arm: Float[Array, "d"],
        seen_reward: Float[Array, ""],
    ) -> Float[Array, ""]:
        # All arms share the noise of a step: what was seen tells it, given the world.
        return seen_reward + world.value @ (arm - seen_arm)


def check_noise(noise_std: Any, arms: int) -> FloatArray:
    """Standard deviations [K], from one number or one per arm."""
    checked = check_array("noise_std", noise_std, above=0)
    if checked.shape not in {(), (arms,)}:
        raise BadInput(f"noise_std must be one number or {arms}, one per arm, got shape {checked.shape}")
    return np.broadcast_to(checked, (arms,)).copy()


@float32_limits.register(LinearBandit)
@float32_limits.register(BallBandit)
def _(problem: LinearBandit | BallBandit) -> Iterator[str]:
    yield from normal_prior_limits(problem)
    yield from within("noise_std", problem.noise_std)
    spread = np.sqrt(np.max(np.diag(problem.prior_covariance), keepdims=True))
    yield from within("prior standard deviation / noise_std", spread / problem.noise_std, high=1e7)
