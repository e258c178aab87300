"""Worlds that are vectors with a normal prior, and what is known of them: shared by linear and logistic bandits.

Everything is said in whitened coordinates u of the world, theta = prior_mean + prior_root u, where the prior is
N(0, I). A posterior is (mean, root L): u ~ N(mean, L L') with L upper triangular.
"""

import abc
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array, check_count
from tsgrad.laws import FramedDraw, FramedNormalLaw
from tsgrad.problems.base import Problem
from tsgrad.problems.precision import near, within
from tsgrad.streams import Noise

MOST_DIMENSIONS = 4096


class Whitened(NamedTuple):
    """u ~ N(mean, root root'). Axes: `mean` [d]; `root` [d, d], upper triangular."""

    mean: Float[Array, "d"]
    root: Float[Array, "d d"]


class NormalPrior(Problem):
    """A problem whose world is a vector with prior N(prior_mean, prior_covariance) and a (nearly) normal posterior."""

    prior_mean: Leaf  # [d]
    prior_covariance: Leaf  # [d, d]

    @abc.abstractmethod
    def whitened(self, belief: Any) -> Whitened:
        """The posterior in whitened coordinates."""

    @property
    def prior_root(self) -> Float[Array, "d d"]:
        """The upper triangular square root of the prior covariance: root root' is the covariance."""
        covariance = jnp.asarray(self.prior_covariance, jnp.result_type(float))
        return jnp.flip(jnp.linalg.cholesky(jnp.flip(covariance)))

    def posterior(self, belief: Any) -> FramedNormalLaw:
        return self.unwhitened(self.whitened(belief))

    def unwhitened(self, known: Whitened) -> FramedNormalLaw:
        """A law over worlds from one in whitened coordinates."""
        dimension = known.mean.shape[0]
        return FramedNormalLaw(
            self.prior_mean + self.prior_root @ known.mean,
            self.prior_root @ known.root,
            jnp.zeros(dimension),
        )

    def draw_world(self, noise: Noise) -> FramedDraw:
        return self.posterior(self.prior(0)).sample(noise)


def check_normal_prior(dimension: int | None, prior_mean: Any, prior_covariance: Any) -> tuple[FloatArray, FloatArray]:
    """Mean [d] and covariance [d, d]; single numbers hold for all dimensions, a vector is the covariance's diagonal.

    >>> check_normal_prior(2, 0.0, [[1.0, 2.0], [2.0, 1.0]])
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: prior_covariance must be positive definite, its smallest eigenvalue is -1
    """
    mean, covariance = check_array("prior_mean", prior_mean), check_array("prior_covariance", prior_covariance)
    if dimension is None:
        sizes = mean.shape[:1] or covariance.shape[:1]
        if not sizes:
            raise BadInput("dimension must be given where prior_mean and prior_covariance are single numbers")
        (dimension,) = sizes
    dimension = check_count("dimension", dimension, least=1, most=MOST_DIMENSIONS)
    if mean.shape not in {(), (dimension,)}:
        raise BadInput(f"prior_mean must be one number or {dimension}, one per dimension, got shape {mean.shape}")
    if covariance.ndim < 2 and covariance.shape in {(), (dimension,)}:
        covariance = np.diag(np.broadcast_to(covariance, (dimension,)))
    if covariance.shape != (dimension, dimension):
        raise BadInput(f"prior_covariance must have shape ({dimension}, {dimension}), got {covariance.shape}")
    if not np.allclose(covariance, covariance.T):
        raise BadInput("prior_covariance must be symmetric: it differs from its transpose")
    smallest = np.linalg.eigvalsh(covariance)[0]
    if smallest <= 0:
        raise BadInput(f"prior_covariance must be positive definite, its smallest eigenvalue is {smallest:.3g}")
    return np.broadcast_to(mean, (dimension,)).copy(), covariance


def normal_prior_limits(problem: NormalPrior) -> Iterator[str]:
    """What float32 can't carry of a prior."""
    variances = np.linalg.eigvalsh(problem.prior_covariance)
    yield from within("prior_covariance", variances)
    yield from within(
        "the ratio of prior_covariance's largest eigenvalue to its smallest", variances[-1:] / variances[:1], high=1e6
    )
    yield from near("prior_mean", problem.prior_mean, np.sqrt(np.diag(problem.prior_covariance)))
