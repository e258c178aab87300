"""What a policy is: it chooses an arm, and knows with which probability."""

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray, check_array, check_choice
from tsgrad_runtime.laws import CategoricalLaw, Law, VectorLaw
from tsgrad_runtime.models import Belief, Model
from tsgrad_runtime.shares import shares_by_mask
from tsgrad_runtime.streams import Noise


class Scene(NamedTuple):
    """What a decision is made from. `available` is a mask [K] or None; t runs from 1 to the horizon; `arms_left` says
    how many decisions are left while each arm is there, [K], where arms come and go by a schedule.
    """

    model: Model
    belief: Belief
    memory: Any
    features: FloatArray | None
    available: Any
    t: int
    horizon: int
    arms_left: Any = None

    @property
    def left(self) -> int:
        """How many decisions are left, this one included."""
        return self.horizon - self.t + 1

    @property
    def kept_features(self) -> FloatArray | None:
        """Those that the decision's reward will be learned with; None where they are the model's at all times."""
        return self.features if self.model.varying else None


def offered(values: FloatArray, available: Any) -> FloatArray:
    """Values of arms [..., K], -inf of those that are not available."""
    return values if available is None else np.where(available, values, -np.inf)


def largest(values: FloatArray, available: Any) -> int:
    """The available arm with the largest value; ties go to the lowest index."""
    return int(offered(values, available).argmax())


def each_largest(values: FloatArray, available: Any) -> list[int]:
    """The same for each row of values [n, K]."""
    arms: list[int] = offered(values, available).argmax(axis=1).tolist()
    return arms


class Policy(abc.ABC):
    """Chooses arms, and knows with which probability. `exact_shares` is false where they are found by sampling."""

    exact_shares = True
    plans = False  # whether every decision takes a plan, and milliseconds
    per_arm = False  # whether it has numbers for each arm, so that no arm can be added
    plays_vectors = False  # whether it can play where every vector is an arm

    @abc.abstractmethod
    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        """The arm of the decision with this number, at whose step of the noise its randomness is."""

    @abc.abstractmethod
    def shares(self, scene: Scene, generator: np.random.Generator) -> FloatArray:
        """The chance of each arm, [K]."""

    def stage(self, scene: Scene) -> Any:
        """What shares depend on beside belief, memory, features and available arms: the time, unless it is known that
        they don't.
        """
        return scene.t

    def prepare(self, model: Model, horizon: int) -> None:
        """Checks that the policy fits the model, and fills in what depends on both."""
        return

    def start(self, model: Model) -> Any:
        """The memory before anything was seen: None, or a tuple of arrays."""
        return None

    def remember(self, model: Model, memory: Any, features: FloatArray | None, arm: Any, reward: float) -> Any:
        """The memory after a reward."""
        return memory


class Timeless(Policy):
    """A policy whose shares don't depend on how much time is left."""

    def stage(self, scene: Scene) -> Any:
        return None


class Sampling(Policy):
    """Draws from a law and plays the arm with the largest order of the draw."""

    @abc.abstractmethod
    def law(self, scene: Scene) -> Law: ...

    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        law = self.law(scene)
        if scene.model.arms is None:
            assert isinstance(law, VectorLaw)
            (world,) = law.worlds(noise, number, 1)
            length = np.linalg.norm(world)
            return world / (length if length > 0 else 1)
        return largest(self.compared(scene.model, law.orders(noise, number, 1)[0]), scene.available)

    def compared(self, model: Model, orders: FloatArray) -> FloatArray:
        """What arms of a draw are compared by."""
        return model.compared(orders)

    def shares(self, scene: Scene, generator: np.random.Generator) -> FloatArray:
        law = self.law(scene)
        if isinstance(law, CategoricalLaw):
            return law.probabilities(scene.available)
        return shares_by_mask(law, generator)(scene.available)


class Certain(Policy):
    """Plays the arm with the largest of some numbers, for sure."""

    @abc.abstractmethod
    def indices(self, scene: Scene) -> FloatArray:
        """The numbers, [K]."""

    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        return largest(self.indices(scene), scene.available)

    def shares(self, scene: Scene, generator: np.random.Generator) -> FloatArray:
        shares = np.zeros(scene.model.arms or 0)
        shares[largest(self.indices(scene), scene.available)] = 1.0
        return shares


def check_per_arm(model: Model, *meta_parameters: FloatArray) -> bool:
    """Whether meta-parameters are one per arm, in which case they must be as many as there are arms."""
    shapes = {value.shape for value in meta_parameters}
    if not shapes <= {(), (model.arms,)}:
        raise BadInput(f"policy has meta-parameters of shapes {sorted(shapes)}, the problem has {model.arms} arms")
    return shapes != {()}


class Arrays:
    """Fields of a policy that are arrays, checked."""

    fields: ClassVar[tuple[str, ...]]

    def __init__(self, **given: Any) -> None:
        for name in given:
            check_choice("a field of policy", name, self.fields)
        for name in self.fields:
            if name not in given:
                raise BadInput(f"policy.{name} is missing: write the policy again")
            setattr(self, name, check_array(name, given[name]))
