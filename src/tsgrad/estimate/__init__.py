"""Gradient estimators: metrics x baselines, and the score they multiply."""

from tsgrad.estimate.baselines import Baseline
from tsgrad.estimate.estimator import BASELINES, METRICS, Estimator, GradientName, ScoreName, described
from tsgrad.estimate.gradient import (
    Gradient,
    episode_gradients,
    estimated_gradient,
    every_gradient,
    gradient,
    gradient_engine,
    ready_for_gradient,
)
from tsgrad.estimate.metrics import Metric, SeparableMetric
from tsgrad.estimate.pathwise import gradient_used
from tsgrad.estimate.recorded import gradient_from_episodes, recorded_gradients
from tsgrad.estimate.score import log_likelihood, score_used, weighted_score
from tsgrad.simulation import Episode

__all__ = [
    "BASELINES",
    "METRICS",
    "Baseline",
    "Episode",
    "Estimator",
    "Gradient",
    "GradientName",
    "Metric",
    "ScoreName",
    "SeparableMetric",
    "described",
    "episode_gradients",
    "estimated_gradient",
    "every_gradient",
    "gradient",
    "gradient_engine",
    "gradient_from_episodes",
    "gradient_used",
    "log_likelihood",
    "ready_for_gradient",
    "recorded_gradients",
    "score_used",
    "weighted_score",
]
