"""Baselines B_t: what is subtracted from the metric to calm the gradient.

A baseline is admissible where, given H_{t-1}, it is independent of the pseudo-action at t: it may read the instance,
other runs and the past, never what this run's draw at t led to.
"""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tsgrad.estimate.episode import Episode
from tsgrad.estimate.look_ahead import look_ahead
from tsgrad.estimate.metrics import Metric


class Baseline(eqx.Module):
    """A baseline. Yours is a subclass with this method.

    `coupled` says whether it depends on the metric in use, `compares_runs` whether it needs several runs an episode.
    """

    coupled: ClassVar[bool] = True
    compares_runs: ClassVar[bool] = False

    @abc.abstractmethod
    def values(self, metric: Metric, episode: Episode, metrics: Float[Array, "R T"]) -> Float[Array, "R T"]:
        """B_t of every run of an episode; `metrics` are the values of the metric in use, of every run."""


class NullBaseline(Baseline):
    """`null`: nothing. Admissible as a constant is."""

    coupled: ClassVar[bool] = False

    def values(self, metric: Metric, episode: Episode, metrics: Float[Array, "R T"]) -> Float[Array, "R T"]:
        return jnp.zeros_like(metrics)


class OracleBaseline(Baseline):
    """`oracle`: what the best arms would have earned in the same instance, by the metric in use.

    Admissible: a function of the instance, and at most of the past before t.
    """

    def values(self, metric: Metric, episode: Episode, metrics: Float[Array, "R T"]) -> Float[Array, "R T"]:
        return jax.vmap(lambda run: metric.oracle(episode, run))(episode.runs)


class SelfPlay(Baseline):
    """`self`: what the other runs of the same episode earned, on average, by the metric in use.

    Admissible: the other runs share the instance and no policy noise. Every run is a baseline of the others.
    """

    compares_runs: ClassVar[bool] = True

    def values(self, metric: Metric, episode: Episode, metrics: Float[Array, "R T"]) -> Float[Array, "R T"]:
        others = metrics.shape[0] - 1
        return (jnp.sum(metrics, axis=0) - metrics) / others


class ValueFunction(Baseline):
    """`value`: the expected reward from here on given the past, by look-aheads under the model.

    Admissible: look-aheads start from the past before t and draw their own pseudo-actions.
    """

    coupled: ClassVar[bool] = False
    lookaheads: int = eqx.field(static=True, default=8)

    def values(self, metric: Metric, episode: Episode, metrics: Float[Array, "R T"]) -> Float[Array, "R T"]:
        return jax.vmap(lambda run: look_ahead(episode, run, self.lookaheads, first_arm_played=False).played)(
            episode.runs
        )
