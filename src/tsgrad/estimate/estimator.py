"""Gradient estimators: a reward metric, a baseline, and how they are put to use."""

from typing import Any, Literal

import equinox as eqx

from tsgrad.checks import BadInput, check_choice, check_count, check_flag
from tsgrad.estimate.metrics_and_baselines import Baseline, Metric
from tsgrad.problems import AnyProblem
from tsgrad.registry import from_data, kinds, registered_class, registered_name, to_data
from tsgrad.simulation import EVERY_USER, Conditions

METRICS = ("obs", "mean", "fin", "bayes", "q")  # the paper's, by their registered names
BASELINES = ("null", "oracle", "self", "value")

ScoreName = Literal["conditional", "draw"]
GradientName = Literal["auto", "score", "pathwise"]


class Estimator(eqx.Module):
    """G = sum_t S_t (M_t - B_t): score, reward metric, baseline.

    Known estimators as pairs:

        obs/null      REINFORCE
        mean/oracle   the regret as weight; a good default at long horizons
        mean/self     self-play: rollouts of one episode are each other's baselines; a good default
        q/value       actor-critic's advantage, without a critic's bias; expensive

    Args:
        metric: "obs", "mean", "fin", "bayes" or "q"; or your own: an object, or the name that it was registered under.
        baseline: "null", "oracle", "self" or "value"; or your own, likewise.
        rollouts: how many of one episode are played under "self", 2 by default.
        lookaheads: how many for "q" and "value", 8 by default; unbiased for any number.
        single_time: whether to look at one random step per episode, times T.
        world: "true", or "posterior" to redraw the instance from the final posterior instead of reading the true one,
            as a live system must.
        score: "conditional" is the expected score given the arm that was played, with a fraction of the noise, where
            the policy's law allows it (otherwise the score of the draw); "draw" is the paper's.
        gradient: "score" is the paper's way; "pathwise" differentiates the episode itself, for batches of many users,
            and needs no baseline; "auto" takes the latter from 20 users per batch on.

    Raises:
        BadInput: if a name is not known, or an option does not belong to the pair.

        >>> Estimator("mean", "self", rollouts=4).name
        'mean/self'
        >>> Estimator("mean", "self", score="draw").name
        'mean/self (draw)'
        >>> Estimator("mean", "oracle", rollouts=4)
        Traceback (most recent call last):
        tsgrad_runtime.checks.BadInput: rollouts must be left out with baseline 'oracle': it does not compare rollouts, got 4

    """  # noqa: E501

    metric: Metric
    baseline: Baseline
    rollouts: int = eqx.field(static=True)
    single_time: bool = eqx.field(static=True)
    world: Literal["true", "posterior"] = eqx.field(static=True)
    score: ScoreName = eqx.field(static=True)
    gradient: GradientName = eqx.field(static=True)

    def __init__(
        self,
        metric: str | dict[str, Any] | Metric = "mean",
        baseline: str | dict[str, Any] | Baseline = "self",
        *,
        rollouts: int | None = None,
        lookaheads: int | None = None,
        single_time: bool = False,
        world: Literal["true", "posterior"] = "true",
        score: ScoreName = "conditional",
        gradient: GradientName = "auto",
    ) -> None:
        self.metric = _chosen("metric", metric, Metric, lookaheads)
        self.baseline = _chosen("baseline", baseline, Baseline, lookaheads)
        if lookaheads is not None and not (self.metric.looks_ahead or self.baseline.looks_ahead):
            raise BadInput(f"lookaheads must be left out unless metric is 'q' or baseline is 'value', got {lookaheads}")
        if self.baseline.compares_rollouts:
            self.rollouts = check_count("rollouts", 2 if rollouts is None else rollouts, least=2)
        elif rollouts is not None:
            raise BadInput(
                f"rollouts must be left out with baseline {self.baseline_name!r}:"
                f" it does not compare rollouts, got {rollouts}"
            )
        else:
            self.rollouts = 1
        self.single_time = check_flag("single_time", single_time)
        check_choice("world", world, ("true", "posterior"))
        self.world = world
        check_choice("score", score, ("conditional", "draw"))
        self.score = score
        check_choice("gradient", gradient, ("auto", "score", "pathwise"))
        self.gradient = gradient

    @property
    def metric_name(self) -> str:
        """The metric's registered name, or that of its class."""
        return registered_name(type(self.metric)) or type(self.metric).__name__

    @property
    def baseline_name(self) -> str:
        """The baseline's registered name, or that of its class."""
        return registered_name(type(self.baseline)) or type(self.baseline).__name__

    @property
    def name(self) -> str:
        """metric/baseline, as the paper's tables show them; marked where the score is that of the draw. A pathwise
        gradient has no baseline.
        """
        if self.gradient == "pathwise":
            return f"{self.metric_name} (pathwise)"
        return f"{self.metric_name}/{self.baseline_name}" + (" (draw)" if self.score == "draw" else "")

    def with_score(self, score: ScoreName, gradient: GradientName | None = None) -> "Estimator":
        """The same estimator, made of another score, or by another kind of gradient."""
        return Estimator(
            self.metric,
            self.baseline,
            rollouts=self.rollouts if self.baseline.compares_rollouts else None,
            single_time=self.single_time,
            world=self.world,
            score=score,
            gradient=self.gradient if gradient is None else gradient,
        )

    @property
    def lookaheads(self) -> int:
        """How many times it plays on from every step of a rollout; none where nothing looks ahead."""
        parts: tuple[Any, ...] = (self.metric, self.baseline)
        return max(part.lookaheads if part.looks_ahead else 0 for part in parts)

    @property
    def right_whatever_the_model(self) -> bool:
        """Whether it is unbiased even where the model is wrong."""
        reads = self.metric.reads_world or self.baseline.reads_world
        return not self.metric.trusts_model and (self.world == "true" or not reads)

    def check(self, problem: AnyProblem, conditions: Conditions = EVERY_USER) -> None:
        """Refuses problems and conditions for which the pair is not admissible."""
        usual = conditions.every_user and conditions.at_once and conditions.after is None
        for kind, part, name in (
            ("metric", self.metric, self.metric_name),
            ("baseline", self.baseline, self.baseline_name),
        ):
            if part.single_users and not usual:
                raise BadInput(
                    f"{kind} {name!r} is for single users whose rewards are seen at once, with nobody after the end:"
                    " use metric 'obs', 'mean' or 'bayes' and baseline 'null', 'oracle' or 'self'"
                )
        if self.world == "posterior" and not (conditions.every_user and conditions.at_once):
            raise BadInput("world must be 'true' in batches and with delays: not all rewards are seen there")
        if not problem.model.exact_posterior and not self.right_whatever_the_model:
            raise BadInput(
                f"estimator {self.name} with world={self.world!r} relies on the posterior of"
                f" {type(problem.model).__name__}, which is an approximation: use metric 'obs' or 'mean' with"
                " world='true', or obs/null"
            )
        if not isinstance(problem.model, self.metric.requires):
            raise BadInput(
                f"metric {self.metric_name!r} is for {self.metric.requires.__name__} only,"
                f" got {type(problem.model).__name__}: use 'obs', 'mean' or 'bayes'"
            )


def _chosen(argument: str, choice: Any, base: type, lookaheads: int | None) -> Any:
    """A metric or a baseline from itself, or from a name or a table with its name."""
    if isinstance(choice, base):
        return choice
    described = {"kind": choice} if isinstance(choice, str) else choice
    if not isinstance(described, dict):
        raise BadInput(f"{argument} must be a name or a {base.__name__}, got {choice!r}")
    kind = check_choice(argument, str(described.get("kind")), kinds(base))
    if lookaheads is not None and registered_class(kind).looks_ahead:
        described = {"lookaheads": check_count("lookaheads", lookaheads, least=1), **described}
    return from_data(described, what=argument, base=base)


def described(part: Metric | Baseline) -> str | dict[str, Any]:
    """A metric or a baseline as files have it: its name, with its fields where it has any."""
    data = to_data(part)
    return data if len(data) > 1 else str(data["kind"])
