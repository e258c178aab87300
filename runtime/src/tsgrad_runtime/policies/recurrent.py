"""Policies with a recurrent network."""

from typing import Any, ClassVar

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray, check_choice
from tsgrad_runtime.laws import BetaLaw, CategoricalLaw, GammaLaw, Law, NormalGammaLaw, NormalLaw, VectorLaw
from tsgrad_runtime.models import Model
from tsgrad_runtime.policies.base import Arrays, Sampling, Scene, Timeless
from tsgrad_runtime.policies.kept import PerScene
from tsgrad_runtime.special import sigmoid


class _Network(Arrays):
    """A gated recurrent unit, and rewards in its units."""

    fields: ClassVar[tuple[str, ...]] = (
        *("weight_input", "weight_hidden", "bias", "bias_candidate"),
        *("head_weight", "head_bias", "reward_location", "reward_scale"),
    )
    weight_input: FloatArray
    weight_hidden: FloatArray
    bias: FloatArray
    bias_candidate: FloatArray
    head_weight: FloatArray
    head_bias: FloatArray
    reward_location: FloatArray
    reward_scale: FloatArray

    def standardised(self, arm: Any, reward: float) -> float:
        which = arm if self.reward_scale.ndim else ()
        return float((reward - self.reward_location[which]) / self.reward_scale[which])

    def next_state(self, read: FloatArray, state: FloatArray) -> FloatArray:
        reset_in, keep_in, new_in = np.split(self.weight_input @ read + self.bias, 3)
        reset_of, keep_of, new_of = np.split(self.weight_hidden @ state, 3)
        reset, keep = sigmoid(reset_in + reset_of), sigmoid(keep_in + keep_of)
        new = np.tanh(new_in + reset * (new_of + self.bias_candidate))
        return np.asarray(new + keep * (state - new))


class Recurrent(_Network, Sampling):
    """A network moves the parameters of the posterior, or of the prior."""

    per_arm = True
    plays_vectors = True

    def __init__(self, *, form: str, reads_features: bool, **weights: Any) -> None:
        super().__init__(**weights)
        self.form, self.reads_features = check_choice("form", form, ("residual", "free")), bool(reads_features)
        self._known = PerScene(self._of_known)

    def start(self, model: Model) -> Any:
        return (np.zeros(self.weight_hidden.shape[1]),)

    def remember(self, model: Model, memory: Any, features: FloatArray | None, arm: Any, reward: float) -> Any:
        if self.reads_features:
            assert features is not None
            code = features[arm]
        elif np.ndim(arm):
            code = np.asarray(arm, np.float64)
        else:
            code = np.eye(self.weight_input.shape[1] // 2)[arm]
        read = np.concatenate([code, code * self.standardised(arm, reward)])
        return (self.next_state(read, memory[0]),)

    def law(self, scene: Scene) -> Law:
        posterior, shift = self._known(scene)
        return shifted(posterior, shift + self.head_weight[:, -1] * (scene.left / scene.horizon))

    def _of_known(self, scene: Scene) -> tuple[Law, FloatArray]:
        """What the time has no part in: the law that is moved, and most of what it is moved by."""
        belief = scene.belief if self.form == "residual" else scene.model.prior()
        shift = self.head_weight[:, :-1] @ scene.memory[0] + self.head_bias
        return scene.model.posterior(belief, scene.features), shift


def shifted(law: Law, shift: FloatArray) -> Law:
    """The law moved by unconstrained numbers; at zero it stays as it is."""
    half = shift.shape[0] // 2
    first, second = shift[:half], shift[half:]
    match law:
        case NormalLaw():
            return NormalLaw(law.location + law.scale * first, law.scale * _factor(second))
        case VectorLaw():
            return VectorLaw(law.mean + law.root @ first, law.root * _factor(second), law.features)
        case BetaLaw():
            return BetaLaw(law.both * _factor(shift).reshape(2, half))
        case GammaLaw():
            return GammaLaw(law.shape * _factor(first), law.rate * _factor(second))
        case NormalGammaLaw():
            return NormalGammaLaw(
                law.location + law.scale * first, law.weight * _factor(-2 * second), law.shape, law.rate
            )
    raise BadInput(f"{type(law).__name__} can't be moved by a network")


_LEAST, _MOST = np.array(-8.0), np.array(8.0)  # which NumPy would make of numbers every time


def _factor(logarithm: FloatArray) -> FloatArray:
    return np.asarray(np.exp(np.minimum(np.maximum(logarithm, _LEAST), _MOST)))


class RL2(_Network, Timeless, Sampling):
    """A network from arms and rewards to the probabilities of the arms."""

    per_arm = True
    fields = (*_Network.fields, "start_state")
    start_state: FloatArray

    def __init__(self, *, start: Any, **weights: Any) -> None:
        super().__init__(start_state=start, **weights)
        self._known = PerScene(lambda scene: CategoricalLaw(self.head_weight @ scene.memory[0] + self.head_bias))

    def start(self, model: Model) -> Any:
        return (self.start_state,)

    def remember(self, model: Model, memory: Any, features: FloatArray | None, arm: Any, reward: float) -> Any:
        read = np.append(np.eye(self.head_bias.shape[0])[arm], self.standardised(arm, reward))
        return (self.next_state(read, memory[0]),)

    def law(self, scene: Scene) -> Law:
        return self._known(scene)

    def compared(self, model: Model, orders: FloatArray) -> FloatArray:
        return orders
