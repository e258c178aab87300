"""Which estimator to train with: bias, variance and time of every pair of metric and baseline, on the same episodes."""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Unpack

import numpy as np
from rich.table import Table

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_count, check_type
from tsgrad.estimate import Estimator, every_gradient, gradient_engine, ready_for_gradient
from tsgrad.evaluate.pairs import admissible, affordable, estimator_pairs, most_episodes
from tsgrad.evaluate.tables import as_text, csv_text, visible
from tsgrad.evaluate.variance_table import study_table
from tsgrad.policies import SamplingPolicy, parameter_names
from tsgrad.problems import AnyProblem
from tsgrad.simulation import (
    BLOCK,
    LOCAL,
    Engine,
    EngineName,
    Workers,
    Workload,
    WorkloadExtras,
    check_workers,
)
from tsgrad.streams import Purpose

_FALSE_ALARM = 1e-3  # of calling any pair biased where none is
_TURNS, _SHORT = 8, 0.3  # how often to run what takes less than so many seconds, to time it


class PairReport(NamedTuple):
    """One estimator. Variances are of the gradient of a single episode: with N episodes they are N times smaller."""

    name: str
    engine: str
    episodes: int
    trace: float  # of the covariance matrix
    trace_standard_error: float
    microseconds: float  # an episode, on the engine that would be used, once compiled
    bias: float  # length of the mean difference from the reference, over the length of the gradient
    bias_by_chance: float  # the length that sampling error alone would give it
    largest_z: float  # of the differences from the reference, over meta-parameters

    @property
    def cost(self) -> float:
        """Variance x time: the microseconds that it takes to have variance one."""
        return self.trace * self.microseconds


class VarianceStudy(NamedTuple):
    """Every estimator on the same episodes, the best buy first. Prints as a table.

    Attributes:
        pairs: one record for each estimator: bias, variance, time.
        reference: the most precise of the pairs that are unbiased whatever the model.
        largest_z_by_chance: unbiased pairs exceed it, any of them, once in a thousand studies.
        horizon: how many steps an episode has.
        seed: which episodes.

    """

    pairs: tuple[PairReport, ...]
    reference: str  # the most precise pair of those that are right whatever the model
    largest_z_by_chance: float  # what unbiased pairs exceed, any of them, once in a thousand studies
    horizon: int
    seed: int

    @property
    def best(self) -> PairReport:
        """The pair of the least variance x time, of those that show no bias."""
        return next(pair for pair in self.pairs if not self.is_biased(pair))

    def is_biased(self, pair: PairReport) -> bool:
        """Whether a pair differs from the reference by more than chance."""
        return pair.largest_z > self.largest_z_by_chance

    def records(self) -> list[dict[str, Any]]:
        """A row for each pair, as plain data."""
        return [
            {
                **pair._asdict(),
                "variance_x_time": pair.cost,
                "relative_cost": self.relative_cost(pair),
                "biased": self.is_biased(pair),
                "horizon": self.horizon,
                "seed": self.seed,
            }
            for pair in self.pairs
        ]

    def table(self) -> Table:
        """A row for each pair, the best buy first."""
        return study_table(self)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{as_text(self.table())}\n{self.advice}"

    def csv(self) -> str:
        """A row for each pair, every number to its last digit."""
        return csv_text(self.records())

    @property
    def advice(self) -> str:
        """Which pair to buy."""
        unbiased = [pair for pair in self.pairs if not self.is_biased(pair) and pair is not self.best]
        best = f"Best buy: {visible(self.best.name)}"
        if not unbiased:
            return best
        second = unbiased[0]
        return (
            f"{best}; {visible(second.name)} comes next and takes"
            f" {self.relative_cost(second):.1f} times as long to the same precision"
        )

    def relative_cost(self, pair: PairReport) -> float:
        """How many times as long as the best buy a pair takes to the same precision."""
        return pair.cost / self.best.cost if self.best.cost > 0 else float("inf" if pair.cost > 0 else 1)


def variance_study(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimators: Mapping[str, Estimator] | None = None,
    *,
    horizon: int,
    episodes: int = 16_384,
    seed: int = 0,
    engine: EngineName = "auto",
    workers: Workers = LOCAL,
    **workload: Unpack[WorkloadExtras],
) -> VarianceStudy:
    """Bias, covariance trace, time and variance x time of estimators.

    Args:
        problem: what is played.
        policy: whose meta-parameters gradients are taken in.
        estimators: by name; by default all pairs but those whose look-aheads would take minutes at this horizon.
        horizon: how many steps an episode has.
        episodes: how many are common to all; pairs with look-aheads may get fewer.
        seed: which episodes.
        engine: "jax", "native", or "auto" for the fastest that can run each.
        workers: who computes: this process, or `tsgrad.RayWorkers`; times are then those of all of them together.
        workload: more about these episodes: `precision`, `conditions`, and the other fields of `Workload`.

    Returns:
        A row for each estimator, the best buy first.

    Raises:
        BadInput: if an estimator does not suit the problem.

    Episodes are common, so that biases are paired differences: from the most precise of the pairs that are right
    whatever the model (`obs` and `mean` with `null`, `oracle` and `self`). Pairs with look-aheads play many times as
    many steps; at long horizons they get fewer episodes, 256 at least.

        >>> from tsgrad.policies import ReshapedThompson
        >>> from tsgrad.problems import GaussianBandit
        >>> problem = GaussianBandit(arms=2)
        >>> pairs = {"obs/null": Estimator("obs", "null"), "mean/oracle": Estimator("mean", "oracle")}
        >>> study = variance_study(problem, ReshapedThompson(problem), pairs, horizon=10, episodes=512)
        >>> study.reference
        'mean/oracle'
        >>> [study.is_biased(pair) for pair in study.pairs]
        [False, False]

    """
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    check_count("horizon", horizon, least=1)
    check_count("episodes", episodes, least=2)
    whole = Workload.of(Purpose.TRAINING, {"horizon": horizon, "episodes": episodes, "seed": seed, **workload})
    check_workers(workers)
    if not parameter_names(policy):
        raise BadInput(f"policy must have meta-parameters for a study of gradients, got {type(policy).__name__}")
    if estimators is None:
        estimators = affordable(admissible(estimator_pairs(problem), problem, whole.conditions), whole.horizon)
    check_type("estimators", estimators, Mapping, remedy='such as {"a": tsgrad.Estimator("mean", "self")}')
    for name, estimator in estimators.items():
        check_type(f"estimators[{name!r}]", estimator, Estimator, remedy='such as tsgrad.Estimator("mean", "self")')
    trusted = [
        name
        for name, estimator in estimators.items()
        if estimator.right_whatever_the_model and not estimator.lookaheads
    ]
    if not trusted:
        raise BadInput(
            "estimators must include one that is unbiased even if the model is wrong, to compare with"
            f" (obs or mean with null, oracle or self; obs/null if the world is redrawn), got {', '.join(estimators)}"
        )
    computations = {
        name: _Computation.of(problem, policy, estimator, whole, engine=engine, workers=workers)
        for name, estimator in estimators.items()
    }
    samples, seconds = _timed(computations)
    precision_of = {name: float(np.sum(np.var(samples[name], axis=0))) / len(samples[name]) for name in trusted}
    reference = min(precision_of, key=lambda name: precision_of[name])
    pairs = [
        _report(name, computation.engine.name, samples[name], samples[reference], seconds[name])
        for name, computation in computations.items()
    ]
    return VarianceStudy(
        tuple(sorted(pairs, key=lambda pair: pair.cost)),
        reference,
        _z_by_chance(max(len(estimators) - 1, 1) * len(parameter_names(policy))),
        whole.horizon,
        whole.seed,
    )


class _Computation(NamedTuple):
    """What one estimator takes to compute: chosen and made ready once, so that nothing but its blocks is timed."""

    engine: Engine
    policy: SamplingPolicy
    workload: Workload

    @classmethod
    def of(
        cls,
        problem: AnyProblem,
        policy: SamplingPolicy,
        estimator: Estimator,
        whole: Workload,
        *,
        engine: EngineName,
        workers: Workers,
    ) -> "_Computation":
        """On as many episodes of the whole as the estimator may have."""
        ready = ready_for_gradient(problem, policy, (estimator,), whole)
        chosen = gradient_engine(
            problem,
            ready,
            (estimator,),
            engine=engine,
            every_episode=True,
            conditions=whole.conditions,
            workers=workers,
        )
        return cls(chosen, ready, whole.part(episodes=min(whole.episodes, most_episodes(estimator, whole.horizon))))

    def compile(self) -> None:
        """Plays a first block."""
        every_gradient(self.engine, self.policy, self.workload.part(episodes=min(self.workload.episodes, BLOCK)))

    def gradients(self) -> FloatArray:
        """Each episode's gradient [N, P]."""
        return every_gradient(self.engine, self.policy, self.workload)[:, 0]


def _timed(computations: Mapping[str, _Computation]) -> tuple[dict[str, FloatArray], dict[str, float]]:
    """What each computation gives, and the seconds of its fastest run.

    Short ones run several times, in turns, because the machine may be busy.
    """
    for computation in computations.values():
        computation.compile()
    results: dict[str, FloatArray] = {}
    seconds = dict.fromkeys(computations, float("inf"))
    for turn in range(_TURNS):
        for name, computation in computations.items():
            if turn == 0 or seconds[name] < _SHORT:
                start = time.perf_counter()
                results[name] = computation.gradients()
                seconds[name] = min(seconds[name], time.perf_counter() - start)
    return results, seconds


def _report(name: str, engine: str, sample: FloatArray, reference: FloatArray, seconds: float) -> PairReport:
    squares = np.sum((sample - sample.mean(axis=0)) ** 2, axis=1)
    common = min(len(sample), len(reference))
    difference = sample[:common] - reference[:common]
    mean, error = difference.mean(axis=0), difference.std(axis=0, ddof=1) / np.sqrt(common)
    length = float(np.linalg.norm(reference.mean(axis=0)))
    return PairReport(
        name=name,
        engine=engine,
        episodes=len(sample),
        trace=float(squares.sum() / (len(sample) - 1)),
        trace_standard_error=float(squares.std(ddof=1) / np.sqrt(len(sample))),
        microseconds=1e6 * seconds / len(sample),
        bias=float(np.linalg.norm(mean)) / length,
        bias_by_chance=float(np.linalg.norm(error)) / length,
        largest_z=float(np.max(np.abs(mean[error > 0]) / error[error > 0], initial=0.0)),
    )


def _z_by_chance(comparisons: int) -> float:
    """The z that so many two-sided comparisons exceed together with the probability of a false alarm, at most."""
    from scipy.special import ndtri

    return float(-ndtri(_FALSE_ALARM / comparisons / 2))
