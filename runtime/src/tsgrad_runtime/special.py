"""Special functions that NumPy lacks."""

from math import erfc

import numpy as np

from tsgrad_runtime.checks import FloatArray


def normal_cdf(z: FloatArray) -> FloatArray:
    """The standard normal distribution function."""
    return np.array([0.5 * erfc(x) for x in (z * -0.7071067811865476).ravel().tolist()]).reshape(z.shape)


def sigmoid(x: FloatArray) -> FloatArray:
    """1 / (1 + exp(-x)), without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0, -x)))
