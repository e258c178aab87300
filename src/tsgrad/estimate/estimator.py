"""Gradient estimators: a reward metric, a baseline, and how they are put to use."""

from typing import Any, Literal

import equinox as eqx

from tsgrad.checks import BadInput, check_choice, check_count
from tsgrad.estimate.baselines import Baseline, NullBaseline, OracleBaseline, SelfPlay, ValueFunction
from tsgrad.estimate.metrics import (
    FiniteSampleMean,
    MeanReward,
    Metric,
    ObservedReward,
    PosteriorMean,
    StateActionValue,
)
from tsgrad.problems import AnyProblem

METRICS: dict[str, type[Metric]] = {
    "obs": ObservedReward,
    "mean": MeanReward,
    "fin": FiniteSampleMean,
    "bayes": PosteriorMean,
    "q": StateActionValue,
}
BASELINES: dict[str, type[Baseline]] = {
    "null": NullBaseline,
    "oracle": OracleBaseline,
    "self": SelfPlay,
    "value": ValueFunction,
}


class Estimator(eqx.Module):
    """G = sum_t S_t (M_t - B_t): score, reward metric, baseline.

    A metric is one of obs, mean, fin, bayes, q, a baseline one of null, oracle, self, value, or either an object of
    your own. Known estimators as pairs:

        obs/null      REINFORCE
        mean/oracle   the regret as weight; a good default at long horizons
        mean/self     self-play: runs of one episode are each other's baselines; a good default
        q/value       actor-critic's advantage, without a critic's bias; expensive

    `rollouts`: runs of one episode under `self`, 2 unless told; `lookaheads`: how many for `q` and `value`, 8 unless
    told, unbiased for any number. `single_time` looks at one random step an episode, times T. `world="posterior"`
    redraws the instance from the final posterior instead of reading the true one, as a live system must.

        >>> Estimator("mean", "self", rollouts=4).name
        'mean/self'
        >>> Estimator("mean", "oracle", rollouts=4)
        Traceback (most recent call last):
        tsgrad.checks.BadInput: rollouts must be left out with baseline 'oracle': it does not compare runs, got 4
    """

    metric: Metric
    baseline: Baseline
    rollouts: int = eqx.field(static=True)
    single_time: bool = eqx.field(static=True)
    world: Literal["true", "posterior"] = eqx.field(static=True)

    def __init__(
        self,
        metric: str | Metric = "mean",
        baseline: str | Baseline = "self",
        *,
        rollouts: int | None = None,
        lookaheads: int | None = None,
        single_time: bool = False,
        world: Literal["true", "posterior"] = "true",
    ) -> None:
        if lookaheads is not None:
            check_count("lookaheads", lookaheads, least=1)
            if metric != "q" and baseline != "value":
                raise BadInput(
                    f"lookaheads must be left out unless metric is 'q' or baseline is 'value', got {lookaheads}"
                )
        options = {} if lookaheads is None else {"lookaheads": lookaheads}
        self.metric = _chosen("metric", metric, Metric, METRICS, options if metric == "q" else {})
        self.baseline = _chosen("baseline", baseline, Baseline, BASELINES, options if baseline == "value" else {})
        if self.baseline.compares_runs:
            self.rollouts = check_count("rollouts", 2 if rollouts is None else rollouts, least=2)
        elif rollouts is not None:
            raise BadInput(
                f"rollouts must be left out with baseline {_name(BASELINES, self.baseline)!r}:"
                f" it does not compare runs, got {rollouts}"
            )
        else:
            self.rollouts = 1
        self.single_time = bool(single_time)
        check_choice("world", world, ("true", "posterior"))
        self.world = world

    @property
    def name(self) -> str:
        """metric/baseline, as in the paper's tables."""
        return f"{_name(METRICS, self.metric)}/{_name(BASELINES, self.baseline)}"

    def check(self, problem: AnyProblem) -> None:
        """Refuses problems for which the pair is not admissible."""
        if not isinstance(problem.model, self.metric.requires):
            raise BadInput(
                f"metric {_name(METRICS, self.metric)!r} is for {self.metric.requires.__name__} only,"
                f" got {type(problem.model).__name__}: use 'obs', 'mean' or 'bayes'"
            )


def _chosen(argument: str, choice: Any, base: type, known: dict[str, type], options: dict[str, int]) -> Any:
    if isinstance(choice, base):
        return choice
    if not isinstance(choice, str):
        raise BadInput(f"{argument} must be a name or a {base.__name__}, got {choice!r}")
    return known[check_choice(argument, choice, known)](**options)


def _name(known: dict[str, type], part: Metric | Baseline) -> str:
    names = [name for name, cls in known.items() if type(part) is cls]
    return names[0] if names else type(part).__name__
