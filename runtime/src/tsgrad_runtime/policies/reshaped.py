"""Plain Thompson sampling, and reshaped posteriors."""

from typing import Any

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray
from tsgrad_runtime.laws import BetaLaw, Law, NormalLaw, VectorLaw
from tsgrad_runtime.models import Belief, Bernoulli, Gaussian, IndependentArms, Model, NormalPrior
from tsgrad_runtime.policies.base import Arrays, Sampling, Scene, Timeless, check_per_arm, each_largest
from tsgrad_runtime.policies.kept import PerBelief, PerDecision, PerStep, kept_posterior
from tsgrad_runtime.policies.stepwise import Stepwise
from tsgrad_runtime.streams import Noise


class Thompson(Timeless, Sampling):
    """Plain Thompson sampling."""

    plays_vectors = True

    def __init__(self) -> None:
        self._posterior, self._best = kept_posterior(), PerDecision(self._of_draws)

    def law(self, scene: Scene) -> Law:
        return self._posterior(scene)

    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        return super().arm(scene, noise, number) if scene.model.arms is None else self._best(scene, noise, number)

    def _of_draws(self, scene: Scene, noise: Noise, number: int, count: int) -> list[int]:
        orders = scene.model.compared(self._posterior(scene).orders(noise, number, count))
        return each_largest(orders, scene.available)


def _bounded_exp(logarithm: Any, start: Any, bound: float) -> Any:
    return np.exp(start + np.minimum(np.maximum(logarithm - start, -bound), bound))


class ReshapedGaussian(Arrays, Stepwise):
    """The paper's own: four meta-parameters an arm."""

    fields = ("prior_mean", "log_prior_variance", "log_precision_ratio", "decay")
    prior_mean: FloatArray
    log_prior_variance: FloatArray
    log_precision_ratio: FloatArray
    decay: FloatArray

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, Gaussian):
            raise BadInput("policy 'reshaped-gaussian' needs a gaussian problem")
        super().prepare(model, horizon)
        self.per_arm = check_per_arm(
            model, self.prior_mean, self.log_prior_variance, self.log_precision_ratio, self.decay
        )
        ratio = _bounded_exp(self.log_precision_ratio, np.log(model.precision_ratio), 20.0)

        def reshaped(scene: Scene) -> NormalLaw:
            return model.reshaped(scene.belief, self.prior_mean - model.prior_mean, 1.0, ratio)

        self._unit, self._horizon, self._log_own_variance = PerBelief(reshaped), horizon, 2 * np.log(model.prior_std)

    def of_time(self, left: FloatArray) -> FloatArray:
        """Scales of an arm of which nothing is known, [step, K]."""
        log_variance = self.log_prior_variance + self.decay * np.log(left / self._horizon)[:, None]
        return np.asarray(np.sqrt(_bounded_exp(log_variance, self._log_own_variance, 20.0)))

    def made(self, scene: Scene, of_time: FloatArray) -> Law:
        unit = self._unit(scene)
        return NormalLaw(unit.location, of_time * unit.scale)


class ReshapedBernoulli(Arrays, Stepwise):
    """Beta(c (alpha + w successes), c (beta + w failures)), c = fraction_left^-decay."""

    fields = ("log_alpha", "log_beta", "log_evidence_weight", "decay")
    log_alpha: FloatArray
    log_beta: FloatArray
    log_evidence_weight: FloatArray
    decay: FloatArray

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, Bernoulli):
            raise BadInput("policy 'reshaped-bernoulli' needs a bernoulli problem")
        super().prepare(model, horizon)
        self.per_arm = check_per_arm(model, self.log_alpha, self.log_beta, self.log_evidence_weight, self.decay)
        starts = np.log(model.alpha), np.log(model.beta)
        given = self.log_alpha - starts[0], self.log_beta - starts[1], self.log_evidence_weight
        moved = [np.clip(one, -8.0, 8.0) for one in given]
        self._counts = np.exp(np.stack([starts[0] + moved[0], starts[1] + moved[1]]))
        self._weight = np.exp(moved[2])
        self._lowest = -8.0 - np.minimum(np.minimum(moved[0], moved[1]), moved[2])
        self._highest = 8.0 - np.maximum(np.maximum(moved[0], moved[1]), moved[2])
        self._horizon = horizon

    def of_time(self, left: FloatArray) -> FloatArray:
        """Concentrations, [step, 1, K]."""
        logarithm = self.decay * -np.log(left / self._horizon)[:, None, None]
        return np.asarray(np.exp(np.minimum(np.maximum(logarithm, self._lowest), self._highest)))

    def made(self, scene: Scene, of_time: FloatArray) -> Law:
        return BetaLaw(of_time * (self._counts + self._weight * scene.belief[0]))


class ReshapedEvidence(Arrays, Stepwise):
    """The posterior of evidence counted w fraction_left^-gamma times."""

    fields = ("log_evidence_weight", "decay")
    log_evidence_weight: FloatArray
    decay: FloatArray

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, IndependentArms):
            raise BadInput("policy 'reshaped-evidence' needs a problem with independent arms")
        super().prepare(model, horizon)
        self.per_arm, self._horizon = check_per_arm(model, self.log_evidence_weight, self.decay), horizon

    def of_time(self, left: FloatArray) -> FloatArray:
        """Weights of evidence, [step, K]."""
        logarithm = self.log_evidence_weight - self.decay * np.log(left / self._horizon)[:, None]
        return np.asarray(_bounded_exp(logarithm, 0.0, 8.0))

    def made(self, scene: Scene, of_time: FloatArray) -> Law:
        statistics = scene.belief[0] if of_time.ndim == 1 else scene.belief[0][:, None]
        return scene.model.posterior((of_time * statistics,), scene.features)

    def arm(self, scene: Scene, noise: Noise, number: int) -> Any:
        if isinstance(scene.model, Bernoulli):  # whose law of several steps has them before its two statistics
            return Sampling.arm(self, scene, noise, number)
        return super().arm(scene, noise, number)


class ReshapedNormal(Arrays, Sampling):
    """N(P^-1 (S^-1 m + rho b), c fraction_left^gamma P^-1), P = S^-1 + rho A."""

    fields = ("prior_mean", "log_covariance_scale", "log_precision_ratio", "decay")
    plays_vectors = True

    prior_mean: FloatArray
    log_covariance_scale: FloatArray
    log_precision_ratio: FloatArray
    decay: FloatArray

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, NormalPrior) or model.prior_mean.shape != self.prior_mean.shape:
            raise BadInput("policy 'reshaped-normal' needs a problem with a normal prior of the same dimension")
        ratio = _bounded_exp(self.log_precision_ratio, 0.0, 8.0)
        shift = np.linalg.solve(model.prior_root, self.prior_mean - model.prior_mean)

        def unit(belief: Belief) -> VectorLaw:
            mean, root = model.whitened(belief)
            plain = model.posterior(belief, None)
            factor = np.linalg.cholesky(ratio * np.eye(mean.shape[0]) + (1 - ratio) * (root.T @ root))
            location = np.linalg.solve(factor @ factor.T, root.T @ (shift + (ratio - 1) * mean))
            return VectorLaw(plain.mean + plain.root @ location, plain.root @ np.linalg.inv(factor.T), None)

        def scale(left: FloatArray) -> FloatArray:
            log_variance = self.log_covariance_scale + self.decay * np.log(left / horizon)
            return np.asarray(np.sqrt(_bounded_exp(log_variance, 0.0, 20.0)))

        self._made, self._scale = unit, PerStep(scale)
        self._of: Belief | None = None

    def law(self, scene: Scene) -> Law:
        if self._of is not scene.belief:  # features, which may be others at every decision, have no part in it
            self._unit, self._of = self._made(scene.belief), scene.belief
        unit = self._unit
        return VectorLaw(unit.mean, unit.root * self._scale(scene.left), scene.features)
