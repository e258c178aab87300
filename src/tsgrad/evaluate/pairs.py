"""Which estimators there are: all pairs of metric and baseline, those that a problem admits, and what they cost."""

import contextlib
import itertools
from collections.abc import Mapping
from typing import Literal

from tsgrad.checks import BadInput
from tsgrad.estimate import BASELINES, METRICS, Estimator, GradientName, ScoreName
from tsgrad.problems import AnyProblem
from tsgrad.registry import registered_class
from tsgrad.simulation import BLOCK, Conditions

_LOOK_AHEAD_STEPS = 1e7  # that a pair with look-aheads may play; it plays from every step of an episode to the end
_TOO_MANY_STEPS = 4e7  # a pair of which one block plays more is left out unless it is asked for


def estimator_pairs(
    problem: AnyProblem,
    *,
    rollouts: int | None = None,
    lookaheads: int | None = None,
    single_time: bool = False,
    world: Literal["true", "posterior"] = "true",
    score: ScoreName = "conditional",
    gradient: GradientName = "auto",
) -> dict[str, Estimator]:
    """All pairs of metric and baseline that the problem admits; options go to those that take them.

    >>> from tsgrad.problems import GaussianBandit
    >>> len(estimator_pairs(GaussianBandit(arms=2)))
    20
    """
    pairs = {}
    for metric, baseline in itertools.product(METRICS, BASELINES):
        kinds = registered_class(metric), registered_class(baseline)
        if isinstance(problem.model, kinds[0].requires):
            pairs[f"{metric}/{baseline}"] = Estimator(
                metric,
                baseline,
                rollouts=rollouts if kinds[1].compares_rollouts else None,
                lookaheads=lookaheads if any(kind.looks_ahead for kind in kinds) else None,
                single_time=single_time,
                world=world,
                gradient=gradient,
                score=score,
            )
    return pairs


def admissible(
    estimators: Mapping[str, Estimator], problem: AnyProblem, conditions: Conditions
) -> dict[str, Estimator]:
    """Those that a problem and conditions allow.

    >>> from tsgrad.problems import LogisticBandit
    >>> problem = LogisticBandit(features=[[1.0], [-1.0]])  # its posterior is an approximation
    >>> list(admissible({"a": Estimator("obs", "null"), "b": Estimator("bayes", "null")}, problem, Conditions()))
    ['a']
    """
    kept = {}
    for name, estimator in estimators.items():
        with contextlib.suppress(BadInput):
            estimator.check(problem, conditions)
            kept[name] = estimator
    return kept


def affordable(estimators: Mapping[str, Estimator], horizon: int) -> dict[str, Estimator]:
    """Those whose look-aheads don't take minutes for a single block of episodes.

    >>> pairs = {"mean/self": Estimator("mean", "self"), "q/null": Estimator("q", "null")}
    >>> list(affordable(pairs, 10)), list(affordable(pairs, 1000))
    (['mean/self', 'q/null'], ['mean/self'])
    """
    return {
        name: estimator
        for name, estimator in estimators.items()
        if BLOCK * _look_ahead_steps(estimator, horizon) <= _TOO_MANY_STEPS
    }


def most_episodes(estimator: Estimator, horizon: int) -> int:
    """How many episodes bound the steps that look-aheads play, in whole blocks.

    >>> most_episodes(Estimator("q", "null"), 100)
    256
    """
    steps = _look_ahead_steps(estimator, horizon)
    return max(int(_LOOK_AHEAD_STEPS / steps) // BLOCK, 1) * BLOCK if steps else 2**31


def _look_ahead_steps(estimator: Estimator, horizon: int) -> float:
    """How many steps look-aheads play in an episode."""
    return float(estimator.rollouts * estimator.lookaheads * horizon * (horizon + 1) / 2)
