"""The first test of a diagnosis: whether the view of the model moves the gradient."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from tsgrad.arrays import FloatArray


class GradientTest(NamedTuple):
    """Does the model's view move the gradient? Episode by episode, `bayes` minus `obs`; zero on average if not.

    Axes: [P] where not a single number.
    """

    bias: FloatArray
    standard_error: FloatArray
    p_values: FloatArray  # of each coordinate
    p_joint: float  # of all of them together
    relative_size: float | None  # length of the bias beyond its noise, over that of the gradient; None where that is 0
    names: tuple[str, ...]


def gradient_test(
    gradients: dict[str, FloatArray], expected: dict[str, FloatArray] | None, names: tuple[str, ...]
) -> GradientTest:
    """Whether `bayes` minus `obs` is zero on average, or, where that is known not to be, as expected.

    Args:
        gradients: of each episode [N, P], by "obs" and "bayes", and by "model", which has the least noise.
        expected: the same of episodes that are as they should be, where `bayes` is known to be off.
        names: of the meta-parameters [P].

    >>> noise = np.random.default_rng(0).normal(size=(500, 1))
    >>> same = gradient_test({"obs": noise, "bayes": noise, "model": noise}, None, ("decay",))
    >>> off = gradient_test({"obs": noise, "bayes": 1 + 1.1 * noise, "model": noise}, None, ("decay",))
    >>> same.p_joint, bool(off.p_joint < 0.001)
    (1.0, True)

    """
    difference = gradients["bayes"] - gradients["obs"]
    usual = None if expected is None else expected["bayes"] - expected["obs"]
    number, width = difference.shape
    bias, covariance = difference.mean(axis=0), _covariance_of_mean(difference)
    if usual is not None:
        bias, covariance = bias - usual.mean(axis=0), covariance + _covariance_of_mean(usual)
    error = np.sqrt(np.diag(covariance))
    z = np.divide(np.abs(bias), error, out=np.zeros(width), where=error > 0)
    p_values = 2 * stats.t.sf(z, number - 1)
    length = _excess_length(gradients["model"].mean(axis=0), _covariance_of_mean(gradients["model"]))
    return GradientTest(
        bias,
        error,
        p_values,
        _joint(bias, covariance, number, p_values),
        _excess_length(bias, covariance) / length if length > 0 else None,
        names,
    )


def _covariance_of_mean(sample: FloatArray) -> FloatArray:
    width = sample.shape[1]
    return np.asarray(np.cov(sample, rowvar=False)).reshape(width, width) / len(sample)


def _joint(bias: FloatArray, covariance: FloatArray, number: int, p_values: FloatArray) -> float:
    """Hotelling's test; Bonferroni's over coordinates where there are too many of them for a covariance."""
    moves = np.diag(covariance) > 0
    width = int(moves.sum())
    if width == 0:
        return 1.0
    if number < 10 * width:
        return float(min(1.0, width * p_values.min()))
    inverse: Any = np.linalg.pinv(covariance[np.ix_(moves, moves)], hermitian=True)
    squared = bias[moves] @ inverse @ bias[moves]
    return float(stats.f.sf(squared * (number - width) / (width * (number - 1)), width, number - width))


def _excess_length(mean: FloatArray, covariance: FloatArray) -> float:
    """The length of a mean, less what noise alone adds to it."""
    return float(np.sqrt(max(mean @ mean - np.trace(covariance), 0.0)))
