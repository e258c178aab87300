"""Plain Thompson sampling, and reshaped posteriors."""

import math
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
    return np.exp(start + np.minimum(np.maximum(logarithm - start, -bound), bound))


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
        self.log_own_variance = 2 * np.log(model.prior_std)

    def law(self, scene: Scene) -> Law:
        model: Any = scene.model
        log_variance = self.log_prior_variance + self.decay * math.log(scene.left / scene.horizon)
        variance = _bounded_exp(log_variance, self.log_own_variance, 20.0)
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
        starts = np.log(model.alpha), np.log(model.beta)
        given = self.log_alpha - starts[0], self.log_beta - starts[1], self.log_evidence_weight
        moved = [np.clip(one, -8.0, 8.0) for one in given]
        self.logarithms = np.stack([starts[0] + moved[0], starts[1] + moved[1]])
        self.log_weight = moved[2]
        self.lowest = -8.0 - np.minimum(np.minimum(moved[0], moved[1]), moved[2])
        self.highest = 8.0 - np.maximum(np.maximum(moved[0], moved[1]), moved[2])

    def law(self, scene: Scene) -> Law:
        concentration = self.decay * -math.log(scene.left / scene.horizon)
        concentration = np.minimum(np.maximum(concentration, self.lowest), self.highest)
        evidence = np.exp(self.log_weight + concentration)
        return BetaLaw.of(np.exp(self.logarithms + concentration) + evidence * scene.belief[0])


class ReshapedEvidence(Arrays, Sampling):
    """The posterior of evidence counted w fraction_left^-gamma times."""

    log_evidence_weight: FloatArray
    decay: FloatArray

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, IndependentArms):
            raise BadInput("policy 'reshaped-evidence' needs a problem with independent arms")
        self.per_arm = check_per_arm(model, self.log_evidence_weight, self.decay)

    def law(self, scene: Scene) -> Law:
        weight = _bounded_exp(self.log_evidence_weight - self.decay * math.log(scene.left / scene.horizon), 0.0, 8.0)
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
        log_variance = self.log_covariance_scale + self.decay * math.log(scene.left / scene.horizon)
        whitening = factor.T / np.sqrt(_bounded_exp(log_variance, 0.0, 20.0))
        return FramedNormalLaw(plain.offset, plain.frame, location, whitening, scene.features)
