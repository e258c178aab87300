"""Models whose arms teach nothing about each other."""

import abc
from collections.abc import Sequence
from math import lgamma, log
from typing import Any, ClassVar

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray, check_arms, check_array, check_choice, check_number
from tsgrad_runtime.laws import BetaLaw, GammaLaw, NormalGammaLaw, NormalLaw, ProductLaw
from tsgrad_runtime.models.base import Belief, Model, reward_range


class IndependentArms(Model):
    """Arms that teach nothing about each other: a belief is one array of statistics [S, K] that add up."""

    statistics: ClassVar[int] = 2
    fields: ClassVar[tuple[str, ...]]
    positive: ClassVar[tuple[str, ...]]

    def __init__(self, **given: Any) -> None:
        _check_fields(given, self.fields)
        least = {name: 0 if name in self.positive else None for name in self.fields}
        arrays = {name: check_array(name, given[name], above=least[name]) for name in self.fields}
        arms = check_arms(None, **arrays)
        self.parameters: dict[str, FloatArray] = dict(zip(arrays, arms, strict=True))
        self._arms = len(arms[0])
        # Of each arm, as plain numbers, which are faster one by one.
        self._of_arms: list[tuple[float, ...]] = list(zip(*(values.tolist() for values in arms), strict=True))
        self.settle()

    @abc.abstractmethod
    def settle(self) -> None:
        """Computes once what every belief needs, from `parameters`."""

    @abc.abstractmethod
    def evidence(self, arm: int, reward: float) -> tuple[float, ...]:
        """What a reward adds to the statistics of its arm, [S]."""

    @abc.abstractmethod
    def log_evidence(self, arm: int, statistics: Sequence[float], strength: float = 1.0) -> float:
        """The logarithm of the chance, or density, of rewards of an arm with these statistics, under a prior that is
        worth `strength` times as many rewards; but for a term that is the same for every strength, and that adds up
        over rewards.
        """

    @abc.abstractmethod
    def posterior(self, belief: Belief, features: FloatArray | None) -> ProductLaw: ...

    @property
    def arms(self) -> int:
        return self._arms

    def prior(self) -> Belief:
        return (np.zeros((self.statistics, self._arms)),)

    def update(self, belief: Belief, features: FloatArray | None, arm: int, reward: float) -> Belief:
        statistics = belief[0].copy()
        statistics[:, arm] += self.evidence(arm, reward)
        return (statistics,)

    def arm_parameters(self, given: dict[str, Any]) -> dict[str, float]:
        """All parameters of one arm more; where nothing is said of it, it is like the others."""
        for name in given:
            check_choice("a parameter of the arm", name, self.fields)
        whole = {}
        for name, values in self.parameters.items():
            if name not in given and not np.all(values == values[0]):
                raise BadInput(f"{name} of a new arm must be given where arms differ, got {values.tolist()!s:.60}")
            above = 0 if name in self.positive else None
            whole[name] = check_number(name, given.get(name, values[0]), above=above)
        return whole

    def with_arm(self, belief: Belief, given: dict[str, Any]) -> tuple["IndependentArms", Belief]:
        """The model and the belief with one arm more."""
        own = self.arm_parameters(given)
        longer = {name: np.append(values, own[name]) for name, values in self.parameters.items()}
        return type(self)(**longer), (np.concatenate([belief[0], np.zeros((self.statistics, 1))], axis=1),)

    def cells(self, belief: Belief, most: int) -> Any:
        """The cell of each arm in a table of indices with `most` cells."""
        raise BadInput("problem must be gaussian or bernoulli for a policy with a table of indices")


class Gaussian(IndependentArms):
    """Normal rewards with known noise; statistics are pulls and by how much rewards exceed the prior mean."""

    fields = ("prior_mean", "prior_std", "noise_std")
    positive = ("prior_std", "noise_std")

    def settle(self) -> None:
        prior_mean, prior_std, noise_std = (self.parameters[name] for name in self.fields)
        self.prior_mean, self.prior_std, self.noise_std = prior_mean, prior_std, noise_std
        self.precision_ratio = (prior_std / noise_std) ** 2
        self.prior_strength = 1 / self.precision_ratio
        self.reward_range = reward_range(prior_mean, prior_std, noise_std)
        self._means = prior_mean.tolist()

    def evidence(self, arm: int, reward: float) -> tuple[float, ...]:
        return 1.0, reward - self._means[arm]

    def log_evidence(self, arm: int, statistics: Sequence[float], strength: float = 1.0) -> float:
        _, prior_std, noise_std = self._of_arms[arm]
        pulls, total = statistics
        before, standard = strength * (noise_std / prior_std) ** 2, total / noise_std
        return (log(before / (before + pulls)) + standard * standard / (before + pulls)) / 2

    def posterior(self, belief: Belief, features: FloatArray | None) -> NormalLaw:
        pulls, total = belief[0]
        strength = pulls + self.prior_strength
        return NormalLaw(self.prior_mean + total / strength, self.noise_std / np.sqrt(strength))

    def reshaped(self, belief: Belief, prior_shift: Any, variance: Any, ratio: Any) -> NormalLaw:
        """N(c + (m - c + rho S) / (1 + rho N), v / (1 + rho N)), c the model's prior mean and m - c `prior_shift`."""
        pulls, total = belief[0]
        shrinkage = 1 / (1 + ratio * pulls)
        return NormalLaw(
            self.prior_mean + (prior_shift + ratio * total) * shrinkage, np.asarray(np.sqrt(variance * shrinkage))
        )

    def moments(self, belief: Belief, features: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        law = self.posterior(belief, features)
        return law.location, law.scale

    def strength(self, belief: Belief, features: FloatArray | None) -> FloatArray:
        return np.asarray(belief[0][0] + self.prior_strength)

    def cells(self, belief: Belief, most: int) -> Any:
        return np.minimum(belief[0][0].astype(int), most - 1)  # past the horizon, as at its end


class Bernoulli(IndependentArms):
    """Rewards 0 or 1 with beta priors; statistics are successes and failures."""

    rewards = "binary"
    fields = ("alpha", "beta")
    positive = fields

    def settle(self) -> None:
        alpha, beta = (self.parameters[name] for name in self.fields)
        self.alpha, self.beta, self.both = alpha, beta, np.stack([alpha, beta])
        self.prior_strength = alpha + beta

    def evidence(self, arm: int, reward: float) -> tuple[float, ...]:
        return reward, 1.0 - reward

    def log_evidence(self, arm: int, statistics: Sequence[float], strength: float = 1.0) -> float:
        alpha, beta = (strength * one for one in self._of_arms[arm])
        successes, failures = statistics
        return _log_beta(alpha + successes, beta + failures) - _log_beta(alpha, beta)

    def posterior(self, belief: Belief, features: FloatArray | None) -> BetaLaw:
        return BetaLaw(self.both + belief[0])

    def moments(self, belief: Belief, features: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        alpha, beta = self.both + belief[0]
        total = alpha + beta
        return alpha / total, np.sqrt(alpha * beta / (total + 1)) / total

    def strength(self, belief: Belief, features: FloatArray | None) -> FloatArray:
        return np.asarray(self.prior_strength + (belief[0][0] + belief[0][1]))

    def values(self, orders: FloatArray) -> FloatArray:
        return np.asarray(1 / (1 + np.exp(np.minimum(-orders, 700.0))))

    def cells(self, belief: Belief, most: int) -> Any:
        # Cells are those of up to `longest` pulls; past the horizon, those of as many with the same rate of success.
        longest = int((np.sqrt(8 * most + 1) - 3) / 2)
        successes, pulls = belief[0][0], belief[0][0] + belief[0][1]
        shrink = np.minimum(1.0, longest / np.maximum(pulls, 1))
        n, s = np.minimum(pulls, longest).astype(int), np.rint(successes * shrink).astype(int)
        return n * (n + 1) // 2 + s


class Poisson(IndependentArms):
    """Counts with gamma priors; statistics are pulls and what counts add up to."""

    rewards = "count"
    fields = ("shape", "rate")
    positive = fields

    def settle(self) -> None:
        shape, rate = (self.parameters[name] for name in self.fields)
        self.shape, self.rate = shape, rate

    def evidence(self, arm: int, reward: float) -> tuple[float, ...]:
        return 1.0, reward

    def log_evidence(self, arm: int, statistics: Sequence[float], strength: float = 1.0) -> float:
        shape, rate = (strength * one for one in self._of_arms[arm])
        pulls, total = statistics
        return _log_gamma_mass(shape + total, rate + pulls) - _log_gamma_mass(shape, rate)

    def posterior(self, belief: Belief, features: FloatArray | None) -> GammaLaw:
        return GammaLaw(self.shape + belief[0][1], self.rate + belief[0][0])

    def moments(self, belief: Belief, features: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        law = self.posterior(belief, features)
        return law.shape / law.rate, np.asarray(np.sqrt(law.shape) / law.rate)

    def strength(self, belief: Belief, features: FloatArray | None) -> FloatArray:
        return np.asarray(self.rate + belief[0][0])

    def values(self, orders: FloatArray) -> FloatArray:
        return np.exp(orders)


class UnknownVariance(IndependentArms):
    """Normal rewards with unknown noise; statistics are pulls, sums and sums of squares from the prior mean."""

    statistics = 3
    fields = ("prior_mean", "prior_weight", "shape", "rate")
    positive = ("prior_weight", "shape", "rate")

    def settle(self) -> None:
        prior_mean, prior_weight, shape, rate = (self.parameters[name] for name in self.fields)
        self.prior_mean, self.prior_weight, self.shape, self.rate = prior_mean, prior_weight, shape, rate

    def evidence(self, arm: int, reward: float) -> tuple[float, ...]:
        centred = reward - float(self.prior_mean[arm])
        return 1.0, centred, centred**2

    def log_evidence(self, arm: int, statistics: Sequence[float], strength: float = 1.0) -> float:
        _, weight, shape, rate = self._of_arms[arm]
        weight, shape, rate = strength * weight, strength * shape, strength * rate
        pulls, total, squares = statistics
        spread = max(squares - total * total / (weight + pulls), 0.0)
        learned = _log_gamma_mass(shape + pulls / 2, rate + spread / 2) - _log_gamma_mass(shape, rate)
        return learned + log(weight / (weight + pulls)) / 2

    def posterior(self, belief: Belief, features: FloatArray | None) -> NormalGammaLaw:
        pulls, total, squares = belief[0]
        weight = self.prior_weight + pulls
        spread = np.maximum(squares - total**2 / weight, 0)
        return NormalGammaLaw(
            self.prior_mean + total / weight, weight, self.shape + pulls / 2, np.asarray(self.rate + spread / 2)
        )

    def moments(self, belief: Belief, features: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        law = self.posterior(belief, features)
        return law.location, np.sqrt(law.rate / (np.maximum(law.shape - 1, law.shape / 4) * law.weight))

    def strength(self, belief: Belief, features: FloatArray | None) -> FloatArray:
        return np.asarray(self.prior_weight + belief[0][0])


def _check_fields(given: dict[str, Any], fields: tuple[str, ...]) -> None:
    for name in given:
        check_choice("a key of problem", name, fields)
    for name in fields:
        if name not in given:
            raise BadInput(f"problem.{name} is missing: write the policy again")


def _log_beta(alpha: float, beta: float) -> float:
    return lgamma(alpha) + lgamma(beta) - lgamma(alpha + beta)


def _log_gamma_mass(shape: float, rate: float) -> float:
    """Of the integral of x^(shape - 1) exp(-rate x)."""
    return lgamma(shape) - shape * log(rate)
