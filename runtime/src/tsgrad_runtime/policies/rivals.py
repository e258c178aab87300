"""Published policies to compare with."""

import abc
from typing import Any

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray, check_array, check_number, check_within
from tsgrad_runtime.laws import CategoricalLaw, Law, NormalLaw
from tsgrad_runtime.models import Bernoulli, Gaussian, Model
from tsgrad_runtime.policies.base import Certain, Policy, Sampling, Scene, Timeless, each_largest, largest, offered
from tsgrad_runtime.policies.kept import PerBelief, PerDecision, PerScene, kept_moments, kept_posterior
from tsgrad_runtime.shares import DRAWS, counted_shares, product_shares, sampled_shares, shares_by_mask
from tsgrad_runtime.special import normal_cdf
from tsgrad_runtime.streams import Noise

_MOST_LOG_SCALE = 100.0  # beyond, squares of gaps in its units are no float64 numbers
_REDRAWS = 32  # of top-two sampling, as in the simulator


class SoftElim(Timeless, Sampling):
    """Arm k with probability proportional to exp(-2 gap_k^2 pulls_k / w^2). Its memory is pulls and averages."""

    def __init__(self, *, log_confidence_scale: Any = 0.0) -> None:
        self.log_confidence_scale = check_within(
            "log_confidence_scale", log_confidence_scale, -_MOST_LOG_SCALE, _MOST_LOG_SCALE
        )
        self._law = PerScene(self._made)

    def start(self, model: Model) -> Any:
        assert model.arms is not None
        return np.zeros(model.arms), np.zeros(model.arms)

    def remember(self, model: Model, memory: Any, features: FloatArray | None, arm: Any, reward: float) -> Any:
        pulls, average = memory[0].copy(), memory[1].copy()
        pulls[arm] += 1
        average[arm] += (reward - average[arm]) / pulls[arm]
        return pulls, average

    def law(self, scene: Scene) -> Law:
        return self._law(scene)

    def _made(self, scene: Scene) -> CategoricalLaw:
        pulls, average = scene.memory
        rated = pulls > 0 if scene.available is None else (pulls > 0) & scene.available
        best = np.max(average, where=rated, initial=-np.inf)
        gap = np.where(rated, best - average, 0)
        return CategoricalLaw(-2 * pulls * (gap * np.exp(-self.log_confidence_scale)) ** 2)

    def compared(self, model: Model, orders: FloatArray) -> FloatArray:
        return orders


class Greedy(Timeless, Certain):
    """The largest posterior mean."""

    def __init__(self) -> None:
        self._moments = kept_moments()

    def indices(self, scene: Scene) -> FloatArray:
        return self._moments(scene)[0]


class Index(Policy):
    """Posterior mean + table[arm, t - 1, cell] (+ spread[arm, t - 1, cell] * normal)."""

    def __init__(self, *, table: Any, spread: Any = None) -> None:
        self.table = check_array("table", table)
        self.spread = None if spread is None else check_array("spread", spread)
        for name, value in (("table", self.table), ("spread", self.spread)):
            if value is not None and (value.ndim != 3 or not value.size):
                raise BadInput(f"{name} must be [arm or 1, t or 1, cell], got shape {value.shape}")
        if self.spread is not None and np.any(self.spread < 0):
            raise BadInput(f"spread must be >= 0, got {np.min(self.spread)}")

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, Gaussian | Bernoulli):
            raise BadInput("policy 'index' needs a gaussian or bernoulli problem")
        for name, value in (("table", self.table), ("spread", self.spread)):
            if value is not None and not (value.shape[0] in (1, model.arms) and value.shape[1] in (1, horizon)):
                raise BadInput(f"{name} must be for {model.arms} arms and {horizon} steps, got {value.shape}")
            self.per_arm = self.per_arm or (value is not None and value.shape[0] > 1)
        arms, self._moments, self._arms = np.arange(model.arms), kept_moments(), PerDecision(self._of_steps)

        def places(scene: Scene) -> Any:
            cells = [
                model.cells(scene.belief, value.shape[2]) for value in (self.table, self.spread) if value is not None
            ]
            return arms, cells

        self._places = PerBelief(places)

    def laws(self, scene: Scene, steps: int) -> NormalLaw:
        """Of the indices at this step and at those that follow it, [step, K]: their spread is zero where there is none.

        Where a table is the same at all steps, its axis of steps is one.
        """
        mean = self._moments(scene)[0]
        spread = np.zeros((1, len(mean))) if self.spread is None else self._looked_up(self.spread, scene, 1, steps)
        return NormalLaw(mean + self._looked_up(self.table, scene, 0, steps), spread)

    def law(self, scene: Scene) -> NormalLaw:
        """Of the indices at this step, [K]."""
        law = self.laws(scene, 1)
        return NormalLaw(law.location[0], law.scale[0])

    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        return self._arms(scene, noise, number, scene.left + number)  # the same while every decision is a step

    def _of_steps(self, scene: Scene, noise: Noise, number: int, count: int) -> list[int]:
        steps = min(count, scene.left)
        law = self.laws(scene, steps)
        if self.spread is None:
            arms = each_largest(law.location, scene.available)
            return arms if len(arms) == steps else arms * steps
        return each_largest(law.orders(noise, number, steps), scene.available)

    def shares(self, scene: Scene, generator: np.random.Generator) -> FloatArray:
        law = self.law(scene)
        if np.all(law.scale > 0):
            return product_shares(law, scene.available)
        shares = np.zeros(law.location.shape)
        if not np.any(law.scale > 0):
            shares[largest(law.location, scene.available)] = 1.0
            return shares
        return sampled_shares(law, scene.available, generator)

    def _looked_up(self, table: FloatArray, scene: Scene, which: int, steps: int) -> FloatArray:
        arms, cells = self._places(scene)
        first = scene.t - 1
        now = table[:, first : first + steps] if table.shape[1] > 1 else table
        return np.asarray(now[arms, :, cells[which]].T if len(now) > 1 else now[0][:, cells[which]])


class NormalQuantile(Certain):
    """The largest m + z s, z the normal quantile of the step's level."""

    def __init__(self, *, levels: Any) -> None:
        from statistics import NormalDist  # slow to load, and seldom needed

        self.widths = [NormalDist().inv_cdf(level) if level > 0 else 0.0 for level in check_array("levels", levels)]
        self._moments = kept_moments()

    def prepare(self, model: Model, horizon: int) -> None:
        if len(self.widths) != horizon:
            raise BadInput(f"levels must be {horizon} numbers for this horizon, got {len(self.widths)}")

    def indices(self, scene: Scene) -> FloatArray:
        mean, std = self._moments(scene)
        return mean + self.widths[scene.t - 1] * std


class KnowledgeGradient(Certain):
    """m + (T - t) step (phi(z) + z Phi(z)), z = -|m - best other m| / step."""

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, Gaussian):
            raise BadInput("policy 'knowledge-gradient' needs a gaussian problem")

    def indices(self, scene: Scene) -> FloatArray:
        model: Any = scene.model
        mean, std = model.moments(scene.belief, scene.features)
        variance = std**2
        step = variance / np.sqrt(variance + model.noise_std**2)
        left_out = np.eye(len(mean), dtype=bool)
        if scene.available is not None:
            left_out |= ~scene.available
        other = np.max(np.where(left_out, -np.inf, mean), axis=1)  # of an arm that is alone, there is none
        z = np.maximum(-np.abs(mean - other) / step, -30.0)
        excess = np.maximum(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) + z * normal_cdf(z), 0.0)
        return np.asarray(mean + (scene.horizon - scene.t) * step * excess)


class Uniform(Timeless):
    """Every available arm with the same probability."""

    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        open_arms = self._open(scene)
        drawn = int(np.floor(noise.uniform(number, 1)[0] * len(open_arms)))
        return int(open_arms[min(drawn, len(open_arms) - 1)])

    def shares(self, scene: Scene, generator: np.random.Generator) -> FloatArray:
        shares = np.zeros(scene.model.arms or 0)
        shares[self._open(scene)] = 1 / len(self._open(scene))
        return shares

    def _open(self, scene: Scene) -> Any:
        return np.arange(scene.model.arms or 0) if scene.available is None else np.flatnonzero(scene.available)


class ByDraws(Timeless):
    """A policy that chooses by draws of the arms' means, and whose shares are found by playing it many times."""

    exact_shares = False

    def __init__(self) -> None:
        self._posterior, self._arms = kept_posterior(), PerDecision(self._of_draws)

    @abc.abstractmethod
    def chosen(self, scene: Scene, means: FloatArray) -> Any:
        """The arms that draws lead to, [draw]; `means` [draw, K], -inf of arms that are not available."""

    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        return self._arms(scene, noise, number)

    def _of_draws(self, scene: Scene, noise: Noise, number: int, count: int) -> list[int]:
        arms: list[int] = self._chosen(scene, self._posterior(scene).orders(noise, number, count)).tolist()
        return arms

    def shares(self, scene: Scene, generator: np.random.Generator) -> FloatArray:
        orders = self._posterior(scene).many(generator, DRAWS)
        return counted_shares(self._chosen(scene, orders), scene.available, orders.shape[1])

    def _chosen(self, scene: Scene, orders: FloatArray) -> Any:
        return self.chosen(scene, offered(scene.model.values(orders), scene.available))


class ScaledThompson(ByDraws):
    """The largest m + factor (draw - m)."""

    def __init__(self, *, factor: Any) -> None:
        super().__init__()
        self.factor = check_number("factor", factor, above=0)
        self._moments = kept_moments()

    def chosen(self, scene: Scene, means: FloatArray) -> Any:
        expected = self._moments(scene)[0]
        return (expected + self.factor * (means - expected)).argmax(axis=1)


class SatisficingThompson(ByDraws):
    """Among arms within `tolerance` of the best of a draw, the one that was tried first. Its memory: steps, tries."""

    def __init__(self, *, tolerance: Any) -> None:
        super().__init__()
        self.tolerance = check_within("tolerance", tolerance, 0.0, np.inf)

    def start(self, model: Model) -> Any:
        return np.zeros(1), np.full(model.arms or 0, 2.0**31 - 1)

    def remember(self, model: Model, memory: Any, features: FloatArray | None, arm: Any, reward: float) -> Any:
        steps, first = memory[0], memory[1].copy()
        first[arm] = min(first[arm], steps[0])
        return steps + 1, first

    def chosen(self, scene: Scene, means: FloatArray) -> Any:
        enough = means >= means.max(axis=1, keepdims=True) - self.tolerance
        return np.where(enough, scene.memory[1], 2.0**32).argmin(axis=1)


class TopTwoThompson(Timeless):
    """With probability `beta` the best arm of a draw, else of redraws until another arm is best; after 32 of them, the
    second best of the first draw.
    """

    def __init__(self, *, beta: Any = 0.5) -> None:
        self.beta = check_within("beta", beta, 0.0, 1.0)
        self._posterior, self._first = kept_posterior(), PerDecision(self._of_draws)

    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        model, law = scene.model, self._posterior(scene)
        best, is_played, values = self._first(scene, noise, number)
        if is_played:
            return best
        for attempt in range(_REDRAWS):
            other = largest(model.compared(law.orders(noise.at(2 + attempt), number, 1)[0]), scene.available)
            if other != best:
                return other
        others = np.where(np.arange(len(values)) == best, np.finfo(np.float64).min, values)
        return largest(others, scene.available)

    def _of_draws(self, scene: Scene, noise: Noise, number: int, count: int) -> list[tuple[int, bool, FloatArray]]:
        """The best arm of each draw, whether it is played, and the means that were drawn."""
        values = scene.model.values(self._posterior(scene).orders(noise.at(1), number, count))
        is_played = noise.at(0).rows("uniform", number, 1, count)[:, 0] <= self.beta
        return list(zip(each_largest(values, scene.available), is_played.tolist(), values, strict=True))

    def shares(self, scene: Scene, generator: np.random.Generator) -> FloatArray:
        """Arm k is best of the first draw with chance p_k, and of some redraw after n others with p_k^n p_j arm j.

        Where all redraws fail, which takes an arm k with p_k near 1, j is second best of the first draw. Best of all
        arms but k is who is second to it, or the best of all: the chance of the former is the difference.
        """
        chance = shares_by_mask(self._posterior(scene), generator)
        plain = chance(scene.available)
        there = np.ones(len(plain), bool) if scene.available is None else scene.available
        if np.sum(there) == 1:
            return plain
        tried = plain * np.sum(plain[:, None] ** np.arange(_REDRAWS), axis=1)
        second = tried[:, None] * plain
        likely = int(np.argmax(plain))
        others = there & (np.arange(len(plain)) != likely)
        second[likely] += plain[likely] ** _REDRAWS * np.maximum(chance(others) - plain, 0.0)
        np.fill_diagonal(second, 0.0)
        shares = self.beta * plain + (1 - self.beta) * np.sum(second, axis=0)
        return np.asarray(shares / np.sum(shares))
