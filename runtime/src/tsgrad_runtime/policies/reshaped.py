"""Plain Thompson sampling, and reshaped posteriors."""

from typing import Any

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray
from tsgrad_runtime.laws import BetaLaw, FramedNormalLaw, Law
from tsgrad_runtime.models import Bernoulli, Gaussian, IndependentArms, Model, NormalPrior
from tsgrad_runtime.policies.base import Arrays, Sampling, Scene, check_per_arm


class Thompson(Sampling):
    """Plain Thompson sampling."""

    def __init__(self) -> None:
        self._kept: tuple[Any, Any, Any] = (None, None, None)

    def law(self, scene: Scene) -> Law:
        belief, features, law = self._kept
        if belief is not scene.belief or features is not scene.features:
            law = scene.model.posterior(scene.belief, scene.features)
            self._kept = scene.belief, scene.features, law
        kept: Law = law
        return kept


def _bounded_exp(logarithm: Any, start: Any, bound: float) -> Any:
    return np.exp(start + np.clip(logarithm - start, -bound, bound))


class ReshapedGaussian(Arrays, Sampling):
    """The paper's own: four meta-parameters an arm."""

    prior_mean: FloatArray
    log_prior_variance: FloatArray
    log_precision_ratio: FloatArray
    decay: FloatArray

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, Gaussian):
            raise BadInput("policy 'reshaped-gaussian' needs a gaussian problem")
        self.per_arm = check_per_arm(model, self.prior_mean, self.log_prior_variance, self.decay)
        self.ratio = _bounded_exp(self.log_precision_ratio, np.log(model.precision_ratio), 20.0)

    def law(self, scene: Scene) -> Law:
        model: Any = scene.model
        log_variance = self.log_prior_variance + self.decay * np.log(scene.left / scene.horizon)
        variance = _bounded_exp(log_variance, 2 * np.log(model.prior_std), 20.0)
        law: Law = model.reshaped(scene.belief, self.prior_mean - model.prior_mean, variance, self.ratio)
        return law


class ReshapedBernoulli(Arrays, Sampling):
    """Beta(c (alpha + w successes), c (beta + w failures)), c = fraction_left^-decay."""

    log_alpha: FloatArray
    log_beta: FloatArray
    log_evidence_weight: FloatArray
    decay: FloatArray

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, Bernoulli):
            raise BadInput("policy 'reshaped-bernoulli' needs a bernoulli problem")
        self.per_arm = check_per_arm(model, self.log_alpha, self.log_beta, self.log_evidence_weight, self.decay)
        self.starts = np.log(model.alpha), np.log(model.beta)
        moved = self.log_alpha - self.starts[0], self.log_beta - self.starts[1], self.log_evidence_weight
        self.moved = [np.clip(one, -8.0, 8.0) for one in moved]
        self.lowest = -8.0 - np.minimum(np.minimum(self.moved[0], self.moved[1]), self.moved[2])
        self.highest = 8.0 - np.maximum(np.maximum(self.moved[0], self.moved[1]), self.moved[2])

    def law(self, scene: Scene) -> Law:
        alpha, beta, weight = self.moved
        concentration = np.clip(-self.decay * np.log(scene.left / scene.horizon), self.lowest, self.highest)
        evidence = np.exp(weight + concentration)
        successes, failures = scene.belief[0]
        return BetaLaw(
            np.exp(self.starts[0] + (alpha + concentration)) + evidence * successes,
            np.exp(self.starts[1] + (beta + concentration)) + evidence * failures,
        )


class ReshapedEvidence(Arrays, Sampling):
    """The posterior of evidence counted w fraction_left^-gamma times."""

    log_evidence_weight: FloatArray
    decay: FloatArray

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, IndependentArms):
            raise BadInput("policy 'reshaped-evidence' needs a problem with independent arms")
        self.per_arm = check_per_arm(model, self.log_evidence_weight, self.decay)

    def law(self, scene: Scene) -> Law:
        weight = _bounded_exp(self.log_evidence_weight - self.decay * np.log(scene.left / scene.horizon), 0.0, 8.0)
        return scene.model.posterior((weight * scene.belief[0],), scene.features)


class ReshapedNormal(Arrays, Sampling):
    """N(P^-1 (S^-1 m + rho b), c fraction_left^gamma P^-1), P = S^-1 + rho A."""

    prior_mean: FloatArray
    log_covariance_scale: FloatArray
    log_precision_ratio: FloatArray
    decay: FloatArray

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, NormalPrior) or model.prior_mean.shape != self.prior_mean.shape:
            raise BadInput("policy 'reshaped-normal' needs a problem with a normal prior of the same dimension")

    def law(self, scene: Scene) -> Law:
        model: Any = scene.model
        mean, root = model.whitened(scene.belief)
        plain = model.posterior(scene.belief, scene.features)
        ratio = _bounded_exp(self.log_precision_ratio, 0.0, 8.0)
        factor = np.linalg.cholesky(ratio * np.eye(mean.shape[0]) + (1 - ratio) * (root.T @ root))
        shift = np.linalg.solve(model.prior_root, self.prior_mean - model.prior_mean)
        location = np.linalg.solve(factor @ factor.T, root.T @ (shift + (ratio - 1) * mean))
        log_variance = self.log_covariance_scale + self.decay * np.log(scene.left / scene.horizon)
        whitening = factor.T / np.sqrt(_bounded_exp(log_variance, 0.0, 20.0))
        return FramedNormalLaw(plain.offset, plain.frame, location, whitening, scene.features)
