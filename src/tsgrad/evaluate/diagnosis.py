"""Can the model's metrics be trusted? Two tests on episodes, recorded or simulated, and what follows from them."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_count
from tsgrad.estimate import Estimator, recorded_gradients
from tsgrad.evaluate.innovations import Group, grouped, innovations
from tsgrad.policies import SamplingPolicy, parameter_names, prepared
from tsgrad.problems import AnyProblem
from tsgrad.simulation import Precision, Recorded, simulate
from tsgrad.streams import Purpose

_ESTIMATORS = {
    "obs": Estimator("obs", "null"),
    "bayes": Estimator("bayes", "null"),
    "model": Estimator("mean", "self"),
}


class GradientTest(NamedTuple):
    """Does the model's view move the gradient? Episode by episode, `bayes` minus `obs`; zero on average if not.

    Axes: [P] where not a single number.
    """

    bias: FloatArray
    standard_error: FloatArray
    p_values: FloatArray  # of each coordinate
    p_joint: float  # of all of them together
    relative_size: float  # length of the bias beyond its noise, over that of the model's gradient
    names: tuple[str, ...]


class Diagnosis(NamedTuple):
    """What episodes say about a model; prints as a few sentences."""

    gradient: GradientTest
    innovations: list[Group]
    p_innovations: float  # the smallest of all groups and statistics, corrected for their number
    level: float
    episodes: int

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
        return f"Nothing in these {self.episodes:,} episodes speaks against the model."

    def _of_gradient(self) -> str:
        test = self.gradient
        if not self.gradient_is_biased:
            return f"Gradient: obs and bayes agree within their noise (p = {test.p_joint:.2g})."
        worst = int(np.argmin(test.p_values))
        return (
            f"Gradient: bayes is biased against obs (p = {test.p_joint:.2g}), most clearly in {test.names[worst]}"
            f" ({test.bias[worst]:+.3g}, s.e. {test.standard_error[worst]:.2g}); the bias is"
            f" {100 * test.relative_size:.0f}% of the gradient."
        )

    def _of_rewards(self) -> str:
        if not self.innovations:
            return "Rewards: too few of any arm to be tested."
        if not self.rewards_are_unexpected:
            return f"Rewards: as the model expects them, in mean, variance and tails (p = {self.p_innovations:.2g})."
        group = min(self.innovations, key=lambda group: min(group[-3:]))
        arm = "" if group.arm is None else f"arm {group.arm}, "
        return (
            f"Rewards: not what the model expects (p = {self.p_innovations:.2g}). Most clearly {arm}pulls"
            f" {group.first_pull} to {group.last_pull}: standardised, they have mean {group.mean:+.2f} (expected 0),"
            f" variance {group.variance:.2f} (expected 1) and {100 * group.tails:.1f}% in the tails (expected 4.6%)."
        )

    def _advice(self) -> str:
        if self.model_is_wrong:
            return (
                "Train with the metric obs: it reads rewards alone. Metrics and worlds of the model (bayes, fin, q,"
                " value, and with world='posterior' mean, oracle and self) inherit its error. Better, mend the model."
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

    Returns:
        Both tests and a verdict, which prints as a few sentences.

    The first test holds the gradient by `obs`
    against that by `bayes`; it sees only errors that move the gradient. The second holds rewards against what the
    model expects of them. Where nothing is wrong, the chance that either raises the alarm is at most `level`.

        >>> import tsgrad as tg
        >>> wrong = tg.Misspecified(truth=tg.GaussianBandit(arms=2, noise_std=2.0), model=tg.GaussianBandit(arms=2))
        >>> diagnose(wrong, tg.ReshapedThompson(wrong.model), 500, horizon=5).metric
        'obs'

    """
    if not 0 < level < 1:
        raise BadInput(f"level must be between 0 and 1, got {level}")
    if not isinstance(episodes, Recorded):
        if horizon is None:
            raise BadInput("horizon must be given where episodes are to be simulated")
        check_count("episodes", episodes, least=2)
        runs = simulate(
            problem,
            policy,
            horizon=horizon,
            episodes=episodes,
            seed=seed,
            purpose=Purpose.EVALUATION,
            trajectories=True,
            precision=precision,
        ).trajectories
        assert runs is not None
        episodes = Recorded.of(runs)
    number, steps = np.shape(episodes.reward)
    policy = prepared(policy, problem, steps)
    gradients = recorded_gradients(problem, policy, _ESTIMATORS, episodes, seed=seed, precision=precision)
    found = innovations(problem.model, policy, episodes, seed=seed, precision=precision)
    groups = grouped(problem.model, episodes, found)
    p_values = [p for group in groups for p in group[-3:]]
    return Diagnosis(
        _gradient_test(gradients, parameter_names(policy)),
        groups,
        min(1.0, len(p_values) * min(p_values)) if p_values else 1.0,
        level,
        number,
    )


def _gradient_test(gradients: dict[str, FloatArray], names: tuple[str, ...]) -> GradientTest:
    difference = gradients["bayes"] - gradients["obs"]
    number, width = difference.shape
    bias, error = difference.mean(axis=0), difference.std(axis=0, ddof=1) / np.sqrt(number)
    moves = error > 0
    z = np.divide(np.abs(bias), error, out=np.zeros(width), where=moves)
    p_values = 2 * stats.t.sf(z, number - 1)
    return GradientTest(
        bias,
        error,
        p_values,
        _joint(difference[:, moves], p_values),
        _excess_length(difference) / max(_excess_length(gradients["model"]), np.finfo(float).tiny),
        names,
    )


def _joint(difference: FloatArray, p_values: FloatArray) -> float:
    """Hotelling's test; Bonferroni's over coordinates where there are too many of them for a covariance."""
    number, width = difference.shape
    if width == 0:
        return 1.0
    if number < 10 * width:
        return float(min(1.0, width * p_values.min()))
    mean = difference.mean(axis=0)
    covariance: Any = np.cov(difference, rowvar=False).reshape(width, width)
    squared = number * mean @ np.linalg.pinv(covariance, hermitian=True) @ mean
    return float(stats.f.sf(squared * (number - width) / (width * (number - 1)), width, number - width))


def _excess_length(sample: FloatArray) -> float:
    """The length of a sample's mean, less what noise alone adds to it."""
    noise = sample.var(axis=0, ddof=1).sum() / len(sample)
    return float(np.sqrt(max(np.sum(sample.mean(axis=0) ** 2) - noise, 0.0)))
