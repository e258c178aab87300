"""The start of training: the best of several simple policies, found by a short scan on common episodes."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from tsgrad.policies import BonusThompson, pretrained, with_parameters
from tsgrad.policies.bonus import Bonus
from tsgrad.problems import AnyProblem
from tsgrad.simulation import Conditions, EngineName, Workers, Workload, ready_for, simulated, simulation_engine
from tsgrad.streams import Purpose
from tsgrad.training.settings import TrainingSettings

# Of draws around the bonus, in posterior standard deviations: Thompson sampling, half, a quarter, next to none.
LOG_SPREADS = (0.0, -0.7, -1.4, -2.8)
BONUSES = (0.0, 0.3, 0.6, 1.0)
SCANNED = 1024  # episodes
SCAN = 2  # of validation episodes: those of the scan


def scan(settings: TrainingSettings, conditions: Conditions) -> Workload:
    """Returns the episodes of the scan for a start, which are no others'."""
    return Workload(
        horizon=settings.horizon,
        episodes=SCANNED,
        seed=settings.seed,
        purpose=Purpose.VALIDATION,
        iteration=SCAN,
        precision=settings.precision,
        chunk=settings.chunk,
        conditions=conditions,
    )


def best_start(problem: AnyProblem, workload: Workload, *, engine: EngineName = "auto", workers: Workers) -> Bonus:
    """Returns the bonus law that earns most among plain Thompson sampling, scaled deviations, constant bonuses, greedy,
    and the laws that were trained over random problems.

    Args:
        problem: what is to be played; with finitely many arms.
        workload: the episodes of the scan, common to all.
        engine: "jax", "native", or "auto" for the fastest that can run.
        workers: who computes.

    Returns:
        The best of them; its scales are not yet those of a horizon.

    >>> from tsgrad.problems import GaussianBandit
    >>> from tsgrad.simulation import LOCAL
    >>> from tsgrad.streams import Purpose
    >>> scan = Workload(horizon=20, episodes=512, seed=0, purpose=Purpose.VALIDATION)
    >>> float(best_start(GaussianBandit(arms=9), scan, workers=LOCAL).log_spread[0]) < 0
    True

    """
    family = BonusThompson(problem)
    ready: Bonus = ready_for(problem, family, workload)
    chosen = simulation_engine(problem, ready, engine=engine, conditions=workload.conditions, workers=workers)

    def regret(vector: np.ndarray) -> float:
        return float(np.mean(simulated(chosen, with_parameters(ready, vector), workload).regret))

    return with_parameters(family, min(_candidates(ready), key=regret))


def _candidates(ready: Bonus) -> Iterator[np.ndarray]:
    """Meta-parameters of the policies that are tried, [P] each."""
    terms = len(ready.bonus)
    for bonus, log_spread in product(BONUSES, LOG_SPREADS):
        vector = np.zeros(2 * terms)
        vector[0], vector[terms] = bonus, log_spread
        yield vector
    for family in ("gaussian", "bernoulli"):
        yield np.concatenate(ready.nearest(pretrained(family)))
