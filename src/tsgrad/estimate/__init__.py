"""Gradient estimators: metrics x baselines, and the score they multiply."""

from tsgrad.estimate.estimator import BASELINES, METRICS, Estimator, GradientName, ScoreName, described
from tsgrad.estimate.gradient_blocks import Gradient, estimated_gradient, gradient_engine
from tsgrad.estimate.gradients import episode_gradients, every_gradient, gradient, ready_for_gradient
from tsgrad.estimate.look_ahead import StateActionValue, ValueFunction
from tsgrad.estimate.metrics_and_baselines import (
    Baseline,
    FiniteSampleMean,
    MeanReward,
    Metric,
    NullBaseline,
    ObservedReward,
    OracleBaseline,
    PosteriorMean,
    SelfPlay,
    SeparableMetric,
)
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
    "FiniteSampleMean",
    "Gradient",
    "GradientName",
    "MeanReward",
    "Metric",
    "NullBaseline",
    "ObservedReward",
    "OracleBaseline",
    "PosteriorMean",
    "ScoreName",
    "SelfPlay",
    "SeparableMetric",
    "StateActionValue",
    "ValueFunction",
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
