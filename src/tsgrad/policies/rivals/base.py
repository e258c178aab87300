"""What a rival is: a policy that knows which problems it is defined for, and says so."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Integer

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_type
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.index import IndexPolicy, check_size
from tsgrad.problems import AnyProblem, BetaArm, Context, NormalArm, Problem, TabledArms
from tsgrad.streams import Noise

TabledArm = NormalArm | BetaArm


class Rival(Policy):
    """A published policy to compare with. It has nothing to train."""

    @classmethod
    @abc.abstractmethod
    def applies(cls, model: Problem) -> bool:
        """Whether it is defined for a problem, by what the problem offers."""


def check_applies(rival: Rival, problem: AnyProblem) -> Any:
    """Checks that a rival is defined for a problem; to be called in its `prepare`.

    Args:
        rival: the rival.
        problem: what it is to play.

    Returns:
        The model of the problem, which the rival will act on.

    Raises:
        BadInput: if it is not defined for the model; the message names the rivals that are.

    >>> import tsgrad as tg
    >>> check_applies(tg.FiniteHorizonGittins(), tg.GaussianBandit(arms=3)).arms
    3

    """
    check_type("rival", rival, Rival, remedy="such as tsgrad.Greedy()")
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    model = problem.model
    if not rival.applies(model):
        names = ", ".join(sorted(cls.__name__ for cls in _concrete(Rival) if cls.applies(model))) or "none"
        raise BadInput(
            f"policy {type(rival).__name__} is not defined for {type(model).__name__}",
            detail=f"; rivals that are: {names}",
        )
    return model


def _concrete(cls: Any) -> list[Any]:
    found = [] if getattr(cls, "__abstractmethods__", None) else [cls]
    return found + [one for subclass in cls.__subclasses__() for one in _concrete(subclass)]


class PreparedRival(Memoryless, Rival):
    """A rival that prepares to be another policy, which holds what can be computed before anything runs."""

    def act(
        self, model: Problem, belief: Any, memory: None, context: Context, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        """For a single decision; for many of them, prepare once."""
        ready = self.prepare(model, clock.horizon)
        arm: Integer[Array, ""] = ready.act(model, belief, memory, context, clock, noise)
        return arm


class TableRival(PreparedRival):
    """A rival whose index can be computed before anything runs: it prepares to be an `IndexPolicy`."""

    @classmethod
    def applies(cls, model: Problem) -> bool:
        return isinstance(model, TabledArms)

    @abc.abstractmethod
    def row(self, arm: TabledArm, horizon: int) -> FloatArray:
        """What the index of an arm adds to its posterior mean, [T, cell]; arms that are alike share it."""

    def prepare(self, problem: AnyProblem, horizon: int) -> IndexPolicy:
        model = check_applies(self, problem)
        return IndexPolicy(table=stacked_rows(self.row, model, horizon, steps=horizon))


def stacked_rows(row: Callable[[Any, int], FloatArray], model: TabledArms, horizon: int, *, steps: int) -> FloatArray:
    """A row for each arm, or one where arms are alike but for their prior means: [arm or 1, steps, cell]."""
    arms = _unlike(model)
    check_size(table_size(model, horizon, steps=steps), horizon)
    rows = {arm: row(arm, horizon) for arm in set(arms)}
    return np.stack([rows[arm] for arm in arms])


def table_size(model: TabledArms, horizon: int, *, steps: int) -> int:
    """How many entries `stacked_rows` have."""
    arms = _unlike(model)
    return len(arms) * steps * int(arms[0].cell_count(horizon))


def _unlike(model: TabledArms) -> list[Any]:
    """The arms, or one of them where they are all alike."""
    arms: list[Any] = list(model.tabled_arms())
    return arms[:1] if len(set(arms)) == 1 else arms


def has_normal_arms(model: Problem) -> bool:
    """Whether the arms are independent, with normal priors and normal rewards: each a `NormalArm`."""
    return isinstance(model, TabledArms) and model.normal_arms


class NormalArms(NamedTuple):
    """Each `NormalArm` of a problem. Axes: [K] each."""

    prior_std: Leaf
    noise_std: Leaf


def normal_arms(model: TabledArms) -> NormalArms:
    """The arms of a problem that `has_normal_arms`, for policies to hold."""
    return NormalArms(*np.array(model.tabled_arms()).T)


def normal_pdf(z: FloatArray) -> FloatArray:
    """The standard normal density, on the host."""
    return np.asarray(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))
