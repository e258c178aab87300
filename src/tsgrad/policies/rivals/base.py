"""What a rival is: a policy that knows which problems it is defined for, and says so."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Array, Integer

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput
from tsgrad.policies.base import Clock, Memoryless, Policy
from tsgrad.policies.index import IndexPolicy, cell_count, check_size
from tsgrad.problems import AnyProblem, GaussianBandit, Problem
from tsgrad.streams import Noise


class Rival(Policy):
    """A published policy to compare with. It has nothing to train."""

    problems: ClassVar[tuple[type, ...]]  # what it is defined for


def check_applies(rival: Rival, problem: AnyProblem) -> Any:
    """The model that a rival will act on; an error names the rivals that are defined for it, where this one is not."""
    model = problem.model
    if not isinstance(model, rival.problems):
        fitting = sorted(cls.__name__ for cls in _concrete(Rival) if issubclass(type(model), cls.problems))
        names = ", ".join(fitting) or "none"
        raise BadInput(
            f"policy {type(rival).__name__} is not defined for {type(model).__name__}; rivals that are: {names}"
        )
    return model


def _concrete(cls: Any) -> list[Any]:
    found = [] if getattr(cls, "__abstractmethods__", None) else [cls]
    return found + [one for subclass in cls.__subclasses__() for one in _concrete(subclass)]


class PreparedRival(Memoryless, Rival):
    """A rival that prepares to be another policy, which holds what can be computed before anything runs."""

    def act(
        self, model: Problem, belief: Any, memory: None, context: Any, clock: Clock, noise: Noise
    ) -> Integer[Array, ""]:
        """For a single decision; for many of them, prepare once."""
        ready = self.prepare(model, clock.horizon)
        arm: Integer[Array, ""] = ready.act(model, belief, memory, context, clock, noise)
        return arm


class TableRival(PreparedRival):
    """A rival whose index can be computed before anything runs: it prepares to be an `IndexPolicy`.

    A row is what the index of one arm adds to its posterior mean, [T, cell]; arms that are alike share it.
    """

    @abc.abstractmethod
    def gaussian_row(self, prior_std: float, noise_std: float, horizon: int) -> FloatArray:
        """The row of a Gaussian arm."""

    @abc.abstractmethod
    def bernoulli_row(self, alpha: float, beta: float, horizon: int) -> FloatArray:
        """The row of a Bernoulli arm."""

    def prepare(self, problem: AnyProblem, horizon: int) -> IndexPolicy:
        model = check_applies(self, problem)
        row = self.gaussian_row if isinstance(model, GaussianBandit) else self.bernoulli_row
        return IndexPolicy(table=stacked_rows(row, model, horizon, steps=horizon))


def stacked_rows(row: Callable[[float, float, int], FloatArray], model: Any, horizon: int, *, steps: int) -> FloatArray:
    """A row for each arm, or one where arms are alike but for their prior means: [arm or 1, steps, cell]."""
    numbers = [model.prior_std, model.noise_std] if isinstance(model, GaussianBandit) else [model.alpha, model.beta]
    arms = [(float(first), float(second)) for first, second in zip(*numbers, strict=True)]
    if len(set(arms)) == 1:
        arms = arms[:1]
    check_size(len(arms) * steps * cell_count(model, horizon), horizon)
    rows = {arm: row(*arm, horizon) for arm in set(arms)}
    return np.stack([rows[arm] for arm in arms])


def posterior_std(prior_std: float, noise_std: float, pulls: FloatArray) -> FloatArray:
    """The standard deviation of a Gaussian arm's mean after `pulls` rewards."""
    return np.asarray(prior_std / np.sqrt(1 + (prior_std / noise_std) ** 2 * pulls))


def normal_pdf(z: FloatArray) -> FloatArray:
    """The standard normal density, on the host."""
    return np.asarray(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))
