"""What a model is: beliefs, and how a reward changes them."""

import abc
from typing import Any, ClassVar

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray, check_array
from tsgrad_runtime.laws import Law

Belief = tuple[FloatArray, ...]


_LARGE = 2**53


class Model(abc.ABC):
    """What policies and beliefs see of a problem. `features` below are those of the arms at a step, [K, d], or None."""

    rewards: ClassVar[str] = "real"  # any number, "binary" or a "count"
    contexts: bool = False  # whether features must be given with every decision

    @property
    @abc.abstractmethod
    def arms(self) -> int | None:
        """K; None where every vector is an arm."""

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
        if self.rewards == "count" and (reward < 0 or reward != int(reward)):
            raise BadInput(f"reward must be a count, 0, 1, 2 or more, for this problem, got {value!r:.80}")
        return reward
