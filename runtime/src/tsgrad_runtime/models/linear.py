"""Models whose world is a vector with a normal prior, and linear rewards."""

import abc
from typing import Any, ClassVar

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray, check_array, check_count, check_number
from tsgrad_runtime.laws import VectorLaw
from tsgrad_runtime.models.base import Belief, Model, reward_range


class NormalPrior(Model):
    """A world that is a vector with a normal prior, theta = prior_mean + prior_root u with u ~ N(0, I) at first.

    By no feature may the prior expect more than `most_expected`, mean and standard deviation; `expects` says of what.
    """

    expects: ClassVar[str] = "rewards"
    most_expected: ClassVar[float] = np.inf

    def __init__(self, prior_mean: Any, prior_covariance: Any) -> None:
        self.prior_mean = check_array("prior_mean", prior_mean)
        covariance = check_array("prior_covariance", prior_covariance)
        dimension = self.prior_mean.size
        if self.prior_mean.ndim != 1 or covariance.shape != (dimension, dimension):
            raise BadInput(
                f"prior_mean and prior_covariance must be [d] and [d, d], got {self.prior_mean.shape}"
                f" and {covariance.shape}"
            )
        try:
            self.prior_root = np.flip(np.linalg.cholesky(np.flip(covariance)))
        except np.linalg.LinAlgError:
            raise BadInput("prior_covariance must be positive definite, got one that is not") from None

    def check_context(self, context: Any) -> FloatArray:
        wanted = (self.arms, self.prior_mean.shape[0])
        given = check_array("context", [] if context is None else context)
        if given.shape != wanted:
            raise BadInput(f"context must be the features of the arms, of shape {wanted}, got shape {given.shape}")
        return self.check_scale("context", given)

    def check_scale(self, name: str, features: FloatArray) -> FloatArray:
        """Features [..., d] from which the model can learn."""
        if np.isfinite(self.most_expected):
            far = np.abs(features @ self.prior_mean) + np.linalg.norm(features @ self.prior_root, axis=-1)
            if (largest := float(np.max(far))) > self.most_expected:
                raise BadInput(
                    f"{name} must be features by which the prior expects {self.expects} up to"
                    f" {self.most_expected:g} in size, got {largest:.3g}: scale them, as in training"
                )
        return features

    @abc.abstractmethod
    def whitened(self, belief: Belief) -> tuple[FloatArray, FloatArray]:
        """The posterior of u: mean [d] and upper triangular root [d, d]."""

    def posterior(self, belief: Belief, features: FloatArray | None) -> VectorLaw:
        mean, root = self.whitened(belief)
        return VectorLaw(self.prior_mean + self.prior_root @ mean, self.prior_root @ root, features)


class LinearRewards(NormalPrior):
    """Rewards x'theta + noise; the belief is the posterior of u itself, by Carlson's square-root update."""

    @abc.abstractmethod
    def seen(self, features: FloatArray | None, arm: Any) -> tuple[FloatArray, float]:
        """The feature vector of an arm and the standard deviation of its noise."""

    def prior(self) -> Belief:
        dimension = self.prior_mean.shape[0]
        return np.zeros(dimension), np.eye(dimension)

    def whitened(self, belief: Belief) -> tuple[FloatArray, FloatArray]:
        return belief[0], belief[1]

    def log_gain_of_weaker(self, belief: Belief, strength: float) -> float:
        """The logarithm of how much better all rewards so far would have been foretold by a prior with the covariance
        S / strength in place of S.

        It is that of the mean of N(u; 0, I / strength) / N(u; 0, I) over the posterior of u, a Gaussian integral.
        """
        mean, root = belief
        excess = np.eye(len(mean)) - (1 - strength) * (root @ root.T)
        _, log_determinant = np.linalg.slogdet(excess)
        far = (1 - strength) * mean @ np.linalg.solve(excess, mean)
        return float(len(mean) * np.log(strength) - log_determinant + far) / 2

    def update(self, belief: Belief, features: FloatArray | None, arm: Any, reward: float) -> Belief:
        mean, root = belief
        feature, noise = self.seen(features, arm)
        whitened = self.prior_root.T @ feature
        along = root.T @ whitened
        after = noise**2 + np.cumsum(along**2)
        before = np.concatenate([[noise**2], after[:-1]])
        weighted = root * along
        sums = np.cumsum(weighted, axis=1)
        innovation = reward - feature @ self.prior_mean - whitened @ mean
        return (
            mean + sums[:, -1] * (innovation / after[-1]),
            (before * root - along * (sums - weighted)) / np.sqrt(before * after),
        )


class Linear(LinearRewards):
    """K arms known by their features, fixed or given with every decision."""

    def __init__(self, *, features: Any, prior_mean: Any, prior_covariance: Any, noise_std: Any) -> None:
        super().__init__(prior_mean, prior_covariance)
        self.noise_std = check_array("noise_std", noise_std, above=0)
        self.features, self.contexts = check_features(features, self.noise_std.shape[0], self.prior_mean.shape[0])
        if self.features is not None:
            std = np.linalg.norm(self.features @ self.prior_root, axis=-1)
            self.reward_range = reward_range(self.features @ self.prior_mean, std, self.noise_std)

    @property
    def arms(self) -> int:
        return int(self.noise_std.shape[0])

    def seen(self, features: FloatArray | None, arm: Any) -> tuple[FloatArray, float]:
        assert features is not None
        return features[arm], float(self.noise_std[arm])

    def moments(self, belief: Belief, features: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        assert features is not None
        law = self.posterior(belief, features)
        return features @ law.mean, np.linalg.norm(features @ law.root, axis=1)

    def strength(self, belief: Belief, features: FloatArray | None) -> FloatArray:
        with np.errstate(divide="ignore"):  # of an arm without features, all is known
            return np.asarray((self.noise_std / self.moments(belief, features)[1]) ** 2)


class Ball(LinearRewards):
    """Every vector of the unit ball is an arm."""

    def __init__(self, *, prior_mean: Any, prior_covariance: Any, noise_std: Any) -> None:
        super().__init__(prior_mean, prior_covariance)
        self.noise_std = check_number("noise_std", noise_std, above=0)
        along = np.linalg.norm(self.prior_mean) * np.array([-1.0, 1.0])
        self.reward_range = reward_range(along, np.linalg.norm(self.prior_root), self.noise_std)

    @property
    def arms(self) -> None:
        return None

    def seen(self, features: FloatArray | None, arm: Any) -> tuple[FloatArray, float]:
        return np.asarray(arm, np.float64), self.noise_std

    def moments(self, belief: Belief, features: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        raise BadInput("problem must have finitely many arms for this policy, got a ball")

    def strength(self, belief: Belief, features: FloatArray | None) -> FloatArray:
        raise BadInput("problem must have finitely many arms for this policy, got a ball")


def check_features(features: Any, arms: int | None, dimension: int) -> tuple[FloatArray | None, bool]:
    """Fixed features [K, d], those of every step [T, K, d], or None where they come with each decision."""
    if isinstance(features, dict) and features.get("kind") == "given-contexts":
        features = features.get("features")
    elif isinstance(features, dict):
        return None, True
    array = check_array("features", features)
    if (
        array.ndim not in (2, 3)
        or not array.size
        or array.shape[-1] != dimension
        or (arms is not None and array.shape[-2] != arms)
    ):
        raise BadInput(f"features must be [K, d] or [T, K, d], got shape {array.shape}")
    return array, False


def arms_of(features: Any) -> int:
    """How many arms the features of a problem are for."""
    if isinstance(features, dict):
        given = features.get("features")
        if given is None:
            return check_count("features: arms", features.get("arms"), least=1, most=2**31 - 1)
        return int(np.shape(given)[1])
    return int(np.shape(features)[0])
