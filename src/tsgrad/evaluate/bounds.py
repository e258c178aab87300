"""Bounds: regret that no policy can go below, by relaxing what a policy may know (Min, Maglaras and Moallemi, 2019).

A policy that knew more than it can would earn more; what the best of those earns bounds every policy. From the weakest
bound to the tightest:

    perfect    knows the world: earns T max_k theta_k, and the bound on regret is zero
    FH         knows all that T - 1 pulls of every arm would tell: earns T max_k mu_{k,T-1}
    V-Zero     knows the rewards to come, but is paid posterior means: max of sum_k sum_{j < n_k} mu_{k,j} over counts
               n_k that add up to T
    optimum    no relaxation: the Bayes-optimal policy itself, for two Bernoulli arms and up to 100 steps

with mu_{k,j} the posterior mean of arm k after j pulls.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_choice, check_count, check_type
from tsgrad.evaluate.optimum import has_known_optimum, optimal_regret
from tsgrad.evaluate.relaxation import best_counts_reward, deviations, futures
from tsgrad.evaluate.statistics import mean_and_error
from tsgrad.problems import AnyProblem, IndependentArms, TabledArms
from tsgrad.simulation import LOCAL, Engine, Workers, Workload, check_workers
from tsgrad.streams import Purpose

BoundKind = Literal["perfect", "FH", "V-Zero", "optimum"]
BOUND_KINDS: tuple[BoundKind, ...] = ("perfect", "FH", "V-Zero", "optimum")
FEWEST_EPISODES = 512  # with fewer, 95% intervals hold less often than that
_FOLDS = 8
_MOST_WORK = 2e9  # where nobody asked for V-Zero by name: additions, a few seconds of them


class RegretBound(NamedTuple):
    """Regret that no policy can go below.

    Attributes:
        regret: the bound.
        standard_error: of the bound; zero where it is exact.
        kind: as `regret_bound` takes it.
        horizon: how many steps an episode has.
        episodes: how many were averaged over; zero where the bound is exact.

    """

    regret: float
    standard_error: float
    kind: str
    horizon: int
    episodes: int


class _Known(NamedTuple):
    """What tabled arms say of themselves; see `TabledArms`."""

    best: float  # the expected largest mean
    informed: float  # the expected largest posterior mean after T - 1 pulls of every arm
    strength: FloatArray  # of the priors, [K]


class _BoundEngine(Engine):
    """Gives what a bound is averaged over, and its controls where arms say what they know: [B, 1 + C] per block."""

    name = "jax"

    def __init__(self, truth: IndependentArms, kind: BoundKind, known: _Known | None) -> None:
        self.truth, self.kind, self.known = truth, kind, known

    def blocks(self, policy: Any, workload: Workload) -> Iterator[FloatArray]:
        horizon, known = workload.horizon, self.known
        for best_mean, means in futures(self.truth, workload):
            finite_horizon = horizon * np.max(means[:, -1], axis=1)
            earned = best_counts_reward(means) if self.kind == "V-Zero" else finite_horizon
            if known is None:
                yield (horizon * best_mean - earned)[:, None]
            else:
                controls = finite_horizon - horizon * known.informed, deviations(means, known.strength)
                yield np.stack([horizon * known.best - earned, *controls], axis=1)


def regret_bound(
    problem: AnyProblem,
    *,
    horizon: int,
    kind: BoundKind = "V-Zero",
    episodes: int = 1024,
    seed: int = 0,
    workers: Workers = LOCAL,
) -> RegretBound:
    """The regret that no policy can go below over `horizon` steps, for independent arms.

    Args:
        problem: whose truth is played.
        horizon: how many steps an episode has.
        kind: "perfect", "FH", "V-Zero" or "optimum", from the weakest to the tightest.
        episodes: how many are averaged over, where the bound is not exact; 512 at least.
        seed: of these episodes.
        workers: who computes: this process, or `tsgrad.RayWorkers`; the result is the same.

    Returns:
        The bound with its standard error, which is zero where it is exact.

    Raises:
        BadInput: if the problem has no bound of this kind.

    FH is exact for Gaussian and Bernoulli arms, and a control variate of V-Zero there: what is linear in its sampling
    error is taken off, and likewise for the path to the best last posterior mean. Other arms are averaged plainly.

        >>> from tsgrad.problems import BernoulliBandit
        >>> for kind in ("FH", "V-Zero", "optimum"):
        ...     print(kind, f"{regret_bound(BernoulliBandit(arms=2), horizon=10, kind=kind).regret:.1f}")
        FH 0.2
        V-Zero 0.5
        optimum 0.6

    """
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    check_choice("kind", kind, BOUND_KINDS)
    check_count("seed", seed, least=0, most=2**64 - 1)
    horizon = check_count("horizon", horizon, least=1)
    check_count("episodes", episodes, least=FEWEST_EPISODES)
    check_workers(workers)
    truth = problem.truth
    if not isinstance(truth, IndependentArms):
        raise BadInput(f"problem must have independent arms for a bound on its regret, got {type(truth).__name__}")
    if kind == "perfect":
        return RegretBound(0.0, 0.0, kind, horizon, 0)
    if kind == "optimum":
        return RegretBound(optimal_regret(truth, horizon=horizon), 0.0, kind, horizon, 0)
    known = (
        _Known(truth.expected_best_mean(), truth.expected_best_mean(horizon - 1), truth.prior_strength)
        if isinstance(truth, TabledArms)
        else None
    )
    if kind == "FH" and known is not None:
        gap = known.best - known.informed
        return RegretBound(horizon * max(gap, 0.0), 0.0, kind, horizon, 0)  # rounding aside, never negative
    build = partial(_BoundEngine, truth, kind, known)
    workload = Workload(horizon=horizon, episodes=episodes, seed=seed, purpose=Purpose.EVALUATION, precision="float64")
    sample = np.concatenate(list(workers.spread(build(), build).blocks(None, workload)))
    return RegretBound(*_controlled(sample[:, 0], sample[:, 1:]), kind, horizon, episodes)


def cheap_bound(problem: AnyProblem, *, horizon: int, seed: int = 0, workers: Workers = LOCAL) -> RegretBound | None:
    """The tightest bound that takes seconds at most; None if there is none."""
    truth = problem.truth
    kind: BoundKind
    if has_known_optimum(truth, horizon):
        kind = "optimum"
    elif not isinstance(truth, IndependentArms):
        return None
    elif truth.arms * horizon**2 / 2 * FEWEST_EPISODES <= _MOST_WORK:
        kind = "V-Zero"
    elif isinstance(truth, TabledArms):
        kind = "FH"
    else:
        return None
    return regret_bound(problem, horizon=horizon, kind=kind, episodes=FEWEST_EPISODES, seed=seed, workers=workers)


def _controlled(sample: FloatArray, controls: FloatArray) -> tuple[float, float]:
    """Mean and standard error of a sample [N], less what is linear in controls [N, C] of expectation zero.

    The slopes for a fold of the episodes come from all others: slopes that had seen an episode would take off part of
    its own error, and overstate the bound.
    """
    fold = np.arange(len(sample)) % _FOLDS
    adjusted = np.empty_like(sample)
    for number in range(_FOLDS):
        others, own = fold != number, fold == number
        centred = controls[others] - np.mean(controls[others], axis=0)
        slopes = np.linalg.lstsq(centred, sample[others] - np.mean(sample[others]))[0]
        adjusted[own] = sample[own] - controls[own] @ slopes
    return mean_and_error(adjusted)
