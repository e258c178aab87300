"""What a model is: beliefs, and how a reward changes them."""

import abc
from typing import Any, ClassVar

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray, check_array
from tsgrad_runtime.laws import Law

Belief = tuple[FloatArray, ...]


_LARGE = 2**53  # up to here float64 numbers hold every count
# By how many standard deviations a reward may differ from what the prior expects. Beliefs add rewards up: float64
# numbers, good to 16 digits, then still tell a posterior's mean from another a standard deviation away.
MOST_DEVIATIONS = 1e9


class Model(abc.ABC):
    """What policies and beliefs see of a problem. `features` below are those of the arms at a step, [K, d], or None."""

    rewards: ClassVar[str] = "real"  # any number, "binary" or a "count"
    contexts: bool = False  # whether features must be given with every decision
    features: FloatArray | None = None  # of the arms, [K, d], or of the arms for each user, [T, K, d]
    reward_range: tuple[float, float] = (-np.inf, np.inf)  # beyond, a reward can't be one of the model

    @property
    @abc.abstractmethod
    def arms(self) -> int | None:
        """K; None where every vector is an arm."""

    @property
    def varying(self) -> bool:
        """Whether features differ between decisions, so that those of a decision must be kept until its reward."""
        return self.contexts or (self.features is not None and self.features.ndim == 3)

    def features_for(self, user: int) -> FloatArray | None:
        """The model's own features for a user, counted from one; whoever comes after the last has those of the last."""
        if self.features is None or not self.varying:
            return self.features
        return np.asarray(self.features[min(user, len(self.features)) - 1])

    def check_context(self, context: Any) -> FloatArray:
        """Features of the arms that were given with a decision, [K, d]."""
        raise BadInput("context must be left out: this problem has none")

    @abc.abstractmethod
    def prior(self) -> Belief: ...

    @abc.abstractmethod
    def update(self, belief: Belief, features: FloatArray | None, arm: Any, reward: float) -> Belief: ...

    @abc.abstractmethod
    def posterior(self, belief: Belief, features: FloatArray | None) -> Law: ...

    @abc.abstractmethod
    def moments(self, belief: Belief, features: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of every arm's expected reward, [K] each."""

    @abc.abstractmethod
    def strength(self, belief: Belief, features: FloatArray | None) -> FloatArray:
        """How many rewards what is believed of each arm is worth, [K]."""

    def values(self, orders: FloatArray) -> FloatArray:
        """The expected rewards of the arms in a draw, from what its arms are compared by."""
        return orders

    def compared(self, orders: FloatArray) -> FloatArray:
        """What the best arm of a draw is found by."""
        return orders

    def check_reward(self, value: Any) -> float:
        """A reward that the model can learn from."""
        if type(value) in (int, float) and -_LARGE < value < _LARGE:  # what rewards nearly always are
            reward = float(value)
        else:
            reward = float(check_array("reward", value)) if np.ndim(value) == 0 else np.nan
            if np.isnan(reward):
                raise BadInput(f"reward must be one number, got {value!r:.80}")
        if self.rewards == "binary" and reward not in (0.0, 1.0):
            raise BadInput(f"reward must be 0 or 1 for this problem, got {value!r:.80}")
        if self.rewards == "count" and (not 0 <= reward <= _LARGE or reward != int(reward)):
            raise BadInput(f"reward must be a count, 0, 1, 2 or more, up to 2**53, for this problem, got {value!r:.80}")
        low, high = self.reward_range
        if not low <= reward <= high:
            raise BadInput(
                f"reward must be from {low:.3g} to {high:.3g}, within {MOST_DEVIATIONS:g} standard deviations of what"
                f" the prior expects, got {value!r:.80}: give it in the unit of the problem"
            )
        return reward


def reward_range(mean: Any, std: Any, noise_std: Any) -> tuple[float, float]:
    """From the least to the largest reward that a normal model takes for one, where expected rewards are so a priori.

    >>> reward_range(np.array([0.0, 5.0]), 3.0, np.array([4.0, 4.0]))
    (-5000000000.0, 5000000005.0)
    """
    far = MOST_DEVIATIONS * np.hypot(std, noise_std)
    return float(np.min(mean - far)), float(np.max(mean + far))
