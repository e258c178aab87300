"""Plain Thompson sampling, and reshaped posteriors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray
from tsgrad_runtime.laws import BetaLaw, FramedNormalLaw, Law, NormalLaw
from tsgrad_runtime.models import Bernoulli, Gaussian, IndependentArms, Model, NormalPrior, Poisson
from tsgrad_runtime.policies.base import Arrays, Sampling, Scene, check_per_arm
from tsgrad_runtime.policies.kept import PerBelief, PerBeliefAndStep, PerStep, kept_posterior


class Thompson(Sampling):
    """Plain Thompson sampling."""

    def __init__(self) -> None:
        self._posterior = kept_posterior()

    def law(self, scene: Scene) -> Law:
        return self._posterior(scene)


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
        ratio = _bounded_exp(self.log_precision_ratio, np.log(model.precision_ratio), 20.0)
        log_own_variance = 2 * np.log(model.prior_std)

        def scale(left: FloatArray) -> FloatArray:
            log_variance = self.log_prior_variance + self.decay * np.log(left / horizon)[:, None]
            return np.asarray(np.sqrt(_bounded_exp(log_variance, log_own_variance, 20.0)))

        def reshaped(scene: Scene) -> NormalLaw:
            return model.reshaped(scene.belief, self.prior_mean - model.prior_mean, 1.0, ratio)

        self._scale, self._unit = PerStep(scale), PerBelief(reshaped)

    def law(self, scene: Scene) -> Law:
        unit = self._unit(scene)
        return NormalLaw(unit.location, self._scale(scene.left) * unit.scale)


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
        counts = np.exp(np.stack([starts[0] + moved[0], starts[1] + moved[1]]))
        weight = np.exp(moved[2])
        lowest = -8.0 - np.minimum(np.minimum(moved[0], moved[1]), moved[2])
        highest = 8.0 - np.maximum(np.maximum(moved[0], moved[1]), moved[2])

        def laws(scene: Scene, left: FloatArray) -> list[BetaLaw]:
            logarithm = self.decay * -np.log(left / horizon)[:, None, None]
            concentration = np.exp(np.minimum(np.maximum(logarithm, lowest), highest))
            return BetaLaw.of_steps(concentration * (counts + weight * scene.belief[0]))

        self._law = PerBeliefAndStep(laws)

    def law(self, scene: Scene) -> Law:
        return self._law(scene)


class ReshapedEvidence(Arrays, Sampling):
    """The posterior of evidence counted w fraction_left^-gamma times."""

    log_evidence_weight: FloatArray
    decay: FloatArray

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, IndependentArms):
            raise BadInput("policy 'reshaped-evidence' needs a problem with independent arms")
        self.per_arm = check_per_arm(model, self.log_evidence_weight, self.decay)

        def laws(scene: Scene, left: FloatArray) -> Sequence[Law]:
            weight = _bounded_exp(self.log_evidence_weight - self.decay * np.log(left / horizon)[:, None], 0.0, 8.0)
            if isinstance(model, Poisson):  # the others' steps cost no less together
                return model.posterior((weight * scene.belief[0][:, None],), scene.features).rows()
            return [model.posterior((one * scene.belief[0],), scene.features) for one in weight]

        self._law = PerBeliefAndStep(laws)

    def law(self, scene: Scene) -> Law:
        return self._law(scene)


class ReshapedNormal(Arrays, Sampling):
    """N(P^-1 (S^-1 m + rho b), c fraction_left^gamma P^-1), P = S^-1 + rho A."""

    prior_mean: FloatArray
    log_covariance_scale: FloatArray
    log_precision_ratio: FloatArray
    decay: FloatArray

    def prepare(self, model: Model, horizon: int) -> None:
        if not isinstance(model, NormalPrior) or model.prior_mean.shape != self.prior_mean.shape:
            raise BadInput("policy 'reshaped-normal' needs a problem with a normal prior of the same dimension")
        ratio = _bounded_exp(self.log_precision_ratio, 0.0, 8.0)
        shift = np.linalg.solve(model.prior_root, self.prior_mean - model.prior_mean)

        def reshaped(scene: Scene) -> FramedNormalLaw:
            mean, root = model.whitened(scene.belief)
            plain = model.posterior(scene.belief, None)
            factor = np.linalg.cholesky(ratio * np.eye(mean.shape[0]) + (1 - ratio) * (root.T @ root))
            location = np.linalg.solve(factor @ factor.T, root.T @ (shift + (ratio - 1) * mean))
            return FramedNormalLaw(plain.offset, plain.frame, location, np.linalg.inv(factor.T), None)

        def scale(left: FloatArray) -> FloatArray:
            log_variance = self.log_covariance_scale + self.decay * np.log(left / horizon)
            return np.asarray(np.sqrt(_bounded_exp(log_variance, 0.0, 20.0)))

        self._unit, self._scale = PerBelief(reshaped), PerStep(scale)

    def law(self, scene: Scene) -> Law:
        unit = self._unit(scene._replace(features=None))  # which have no part in it
        assert unit.spread is not None
        spread = unit.spread * self._scale(scene.left)
        return FramedNormalLaw(unit.offset, unit.frame, unit.location, spread, scene.features)
