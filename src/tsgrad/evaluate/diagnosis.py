"""Can the model's metrics be trusted? Two tests on episodes, recorded or simulated, and what follows from them."""

from typing import Any, NamedTuple

import jax
import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_count, check_share, check_type
from tsgrad.estimate import Estimator, GradientName, every_gradient, gradient_engine, ready_for_gradient
from tsgrad.estimate.recorded import replayed_gradients
from tsgrad.evaluate.gradient_test import GradientTest, gradient_test
from tsgrad.evaluate.innovations import LEAST_P, Group, grouped, innovations, p_of_permutations
from tsgrad.evaluate.played_innovations import played_innovations
from tsgrad.policies import SamplingPolicy, parameter_names, prepared
from tsgrad.problems import AnyProblem, FiniteArms
from tsgrad.simulation import (
    EVERY_USER,
    Conditions,
    Precision,
    Recorded,
    Workload,
    ready_for,
    simulated,
    simulation_engine,
)
from tsgrad.streams import Purpose

FEWEST = 30  # episodes of which anything is said

_ESTIMATORS = {
    "obs": Estimator("obs", "null"),
    "bayes": Estimator("bayes", "null"),
    "model": Estimator("mean", "self"),
}


class Diagnosis(NamedTuple):
    """What episodes say about a model; prints as a few sentences.

    Attributes:
        gradient: the test of the gradient: the bias of each meta-parameter, with p-values.
        innovations: the tests of the rewards, one per arm and group of pulls.
        p_innovations: the smallest p-value of all of them, corrected for their number.
        level: the probability of a false alarm.
        episodes: how many episodes there were.
        turns: what the tests of rewards count: the "pulls" of an arm, or its "batches".

    """

    gradient: GradientTest
    innovations: list[Group]
    p_innovations: float  # of all groups and statistics together
    level: float
    episodes: int
    turns: str = "pulls"  # of an arm, by which innovations are counted: its "batches" where users are one sum

    @property
    def gradient_is_biased(self) -> bool:
        """Whether metrics of the model move the gradient."""
        return self.gradient.p_joint < self.level / 2

    @property
    def rewards_are_unexpected(self) -> bool:
        """Whether rewards are other than the model expects."""
        return self.p_innovations < self.level / 2

    @property
    def model_is_wrong(self) -> bool:
        """The verdict: false alarms have at most the chance `level`, half of it spent on each test."""
        return self.gradient_is_biased or self.rewards_are_unexpected

    @property
    def metric(self) -> str:
        """The metric to train with."""
        return "obs" if self.model_is_wrong else "mean"

    def __str__(self) -> str:
        return "\n".join([self._verdict(), self._of_gradient(), self._of_rewards(), self._advice()])

    def _verdict(self) -> str:
        if self.model_is_wrong:
            return f"The model does not fit these {self.episodes:,} episodes."
        return f"Nothing in these {self.episodes:,} episodes contradicts the model."

    def _of_gradient(self) -> str:
        test = self.gradient
        if not self.gradient_is_biased:
            return f"Gradient: obs and bayes agree within their noise (p = {test.p_joint:.2g})."
        worst = int(np.argmin(test.p_values))
        return (
            f"Gradient: bayes is biased against obs (p = {test.p_joint:.2g}), most clearly in {test.names[worst]}"
            f" ({test.bias[worst]:+.3g}, s.e. {test.standard_error[worst]:.2g}); {self._size()}."
        )

    def _size(self) -> str:
        if self.gradient.relative_size is None:
            return "the gradient itself can't be told from zero"
        return f"the bias is {100 * self.gradient.relative_size:.0f}% of the gradient"

    def _of_rewards(self) -> str:
        if not self.innovations:
            return "Rewards: too few of any arm to be tested."
        if not self.rewards_are_unexpected:
            return f"Rewards: as the model expects them, in mean, variance and tails (p = {self.p_innovations:.2g})."
        group = min(self.innovations, key=lambda group: min(group[-3:]))
        arm = "" if group.arm is None else f"arm {group.arm}, "
        return (
            f"Rewards: not what the model expects (p = {self.p_innovations:.2g}). Most clearly {arm}{self.turns}"
            f" {group.first_pull} to {group.last_pull}: standardised, they have mean {group.mean:+.2f} (expected 0),"
            f" variance {group.variance:.2f} (expected 1) and {100 * group.tails:.1f}% in the tails (expected 4.6%)."
        )

    def _advice(self) -> str:
        if self.model_is_wrong:
            return (
                "Train with the metric obs: it reads rewards alone. Metrics and worlds of the model (bayes, fin, q,"
                " and with world='posterior' mean, oracle and self) inherit its error. Better still, correct the model."
            )
        return "Train with the metric mean and the baseline self: they have less noise than obs."


def diagnose(
    problem: AnyProblem,
    policy: SamplingPolicy,
    episodes: int | Recorded,
    *,
    horizon: int | None = None,
    seed: int = 0,
    level: float = 0.05,
    precision: Precision = "float32",
    conditions: Conditions = EVERY_USER,
) -> Diagnosis:
    """Tells whether the model's metrics can be trusted, from episodes that the policy played.

    Args:
        problem: what was played, and what is believed about it.
        policy: the policy that played.
        episodes: recorded ones, or how many to simulate.
        horizon: of simulated episodes; recorded ones have their own.
        seed: of everything that is drawn.
        level: the chance of an alarm where nothing is wrong.
        precision: "float32" or "float64".
        conditions: of simulated episodes.

    Returns:
        Both tests and a verdict, which prints as a few sentences.

    Raises:
        BadInput: if the policy can't play the problem, or `horizon` is not given where episodes are to be simulated.

    The first test compares the gradient by `obs` with that by `bayes`; it sees only errors that move the gradient. The
    second compares rewards with what the model predicts. Where nothing is wrong, the probability that either raises
    the alarm is at most `level`. Where the posterior is an approximation, its own error would raise it: then episodes
    are compared with as many that are simulated from the model itself, with the same policy, and rewards are unexpected
    where halves of all these episodes, drawn at random, would seldom differ as much.

    In batches whose users are only counted, it is the sum of an arm's rewards at a step that is compared with sums that
    the model predicts. Rewards count when they were paid, not when they were seen. Gradients of batches are by scores,
    which have no bias, but where users are allocated in proportion: there is none but the pathwise one, exact for
    normal rewards, and for others the better the larger batches are.

        >>> import tsgrad as tg
        >>> wrong = tg.Misspecified(truth=tg.GaussianBandit(arms=2, noise_std=2.0), model=tg.GaussianBandit(arms=2))
        >>> diagnose(wrong, tg.ReshapedThompson(wrong.model), 500, horizon=5).metric
        'obs'

    """
    check_share("level", level)
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    if isinstance(episodes, Recorded):
        number, horizon = np.shape(episodes.reward)
        check_count("the number of episodes", number, least=FEWEST)
    else:
        if horizon is None:
            raise BadInput("horizon must be given where episodes are to be simulated")
        number = check_count("episodes", episodes, least=FEWEST)
    workload = Workload(
        horizon=horizon,
        episodes=number,
        seed=seed,
        purpose=Purpose.EVALUATION,
        precision=precision,
        conditions=conditions,
    )
    if isinstance(episodes, Recorded):
        return _diagnosed(problem, policy, episodes, workload, level)
    if conditions.masks_alone:
        return _diagnosed(problem, policy, _simulated(problem, policy, workload), workload, level)
    return _diagnosed_under(problem, policy, workload, level)


def _diagnosed(
    problem: AnyProblem, policy: SamplingPolicy, record: Recorded, workload: Workload, level: float
) -> Diagnosis:
    """The diagnosis of recorded episodes, as many and as long as the workload's."""
    policy = prepared(policy, problem, workload.horizon)
    seen = Seen.of(problem, policy, record, workload)
    expected = None
    if not problem.model.exact_posterior:
        masks = workload.conditions if workload.conditions.masks_alone else EVERY_USER
        own = _simulated(problem.model, policy, workload.part(iteration=1, conditions=masks))
        expected = Seen.of(problem, policy, own, workload)
    return judged(seen, expected, names=parameter_names(policy), level=level)


def _diagnosed_under(problem: AnyProblem, policy: SamplingPolicy, workload: Workload, level: float) -> Diagnosis:
    """The diagnosis of episodes that are simulated under conditions."""
    seen = Seen.under(problem, policy, workload)
    expected = None
    if not problem.model.exact_posterior:
        expected = Seen.under(problem.model, policy, workload.part(iteration=1))
    return judged(seen, expected, names=parameter_names(policy), level=level)


def judged(seen: "Seen", expected: "Seen | None", *, names: tuple[str, ...], level: float) -> Diagnosis:
    """The diagnosis of episodes; against those that are `expected`, where the model's posterior is approximate."""
    beside = expected and (expected.arm, expected.innovations)
    groups = grouped(seen.arm, seen.innovations, beside, pulls=seen.turns)
    p_values = [p for group in groups for p in group[-3:]]
    p_smallest = min(1.0, len(p_values) * min(p_values)) if p_values else 1.0
    if beside is not None:
        p_of_any = p_of_permutations(seen.arm, seen.innovations, beside, pulls=seen.turns)
        # Fewer permutations were tried than a smaller chance would take.
        p_smallest = min(p_of_any, p_smallest) if p_of_any <= LEAST_P else p_of_any
    return Diagnosis(
        gradient_test(seen.gradients, expected and expected.gradients, names),
        groups,
        p_smallest,
        level,
        len(seen.innovations),
        "batches" if seen.of_sums else "pulls",
    )


def _simulated(problem: AnyProblem, policy: SamplingPolicy, workload: Workload) -> Recorded:
    """What a live system would have recorded of simulated episodes."""
    ready = ready_for(problem, policy, workload)
    engine = simulation_engine(problem, ready, trajectories=True, conditions=workload.conditions)
    played = simulated(engine, ready, workload).trajectories
    assert played is not None
    return Recorded.of(played)


class Seen(NamedTuple):
    """Episodes: their gradients by each estimator [N, P], innovations [N, M], and whose these are [N, M], as `grouped`
    takes them. An arm has so many `turns` at most; `of_sums` says that each is all of its users at a step.
    """

    arm: Any
    gradients: dict[str, FloatArray]
    innovations: FloatArray
    turns: int
    of_sums: bool = False

    @classmethod
    def of(cls, problem: AnyProblem, policy: SamplingPolicy, record: Recorded, workload: Workload) -> "Seen":
        """Of recorded episodes; what is drawn beside them has the seed and the precision of a workload."""
        estimators, seed, precision = tuple(_ESTIMATORS.values()), workload.seed, workload.precision
        gradients, _ = replayed_gradients(problem, policy, estimators, record, seed, 0, precision)
        return cls(
            np.asarray(record.arm) if isinstance(problem.model, FiniteArms) else None,
            {name: gradients[:, index] for index, name in enumerate(_ESTIMATORS)},
            innovations(problem.model, policy, record, seed=seed, precision=precision),
            np.shape(record.reward)[1],
        )

    @classmethod
    def under(cls, problem: AnyProblem, policy: SamplingPolicy, workload: Workload) -> "Seen":
        """Of episodes that are simulated under conditions."""
        way: GradientName = "pathwise" if workload.conditions.allocation == "proportional" else "score"
        estimators = tuple(
            Estimator(usual.metric_name, usual.baseline_name, gradient=way) for usual in _ESTIMATORS.values()
        )
        ready = ready_for_gradient(problem, policy, estimators, workload)
        engine = gradient_engine(problem, ready, estimators, every_episode=True, conditions=workload.conditions)
        gradients = every_gradient(engine, ready, workload)
        found = played_innovations(problem, ready, workload)
        return cls(
            found.arm if isinstance(problem.model, FiniteArms) else None,
            {name: gradients[:, index] for index, name in enumerate(_ESTIMATORS)},
            found.value,
            workload.horizon if found.of_sums else found.value.shape[1],
            found.of_sums,
        )

    def part(self, first: int, last: int) -> "Seen":
        """Some of the episodes."""
        arm, gradients, found = jax.tree.map(
            lambda leaf: leaf[first:last], (self.arm, self.gradients, self.innovations)
        )
        return self._replace(arm=arm, gradients=gradients, innovations=found)
