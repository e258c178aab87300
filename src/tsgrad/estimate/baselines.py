"""Baselines B_t: what is subtracted from the metric to reduce the variance of the gradient.

A baseline is admissible where, given H_{t-1}, it is independent of the pseudo-action at t: it may read the instance,
other rollouts and the past, never what this rollout's draw at t led to.
"""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tsgrad.estimate.look_ahead import look_ahead
from tsgrad.estimate.metrics import Metric
from tsgrad.registry import register
from tsgrad.simulation import Episode


class Baseline(eqx.Module):
    """A baseline. Subclass it for your own (guide *Add an estimator*), and register it to resume runs that use it.

    Class variables state its properties: `coupled` says whether it depends on the metric in use; `compares_rollouts`
    whether it needs several rollouts of an episode; `reads_world` whether it reads the instance, which
    world="posterior" draws from the model; `looks_ahead` whether it plays on from every step, `lookaheads` times;
    `single_users` whether it needs steps of one user each, whose reward is seen before the next step, and no users
    after the end. No baseline relies on the model: what is independent of the draw at t adds no bias.
    """

    coupled: ClassVar[bool] = True
    compares_rollouts: ClassVar[bool] = False
    reads_world: ClassVar[bool] = False
    looks_ahead: ClassVar[bool] = False
    single_users: ClassVar[bool] = False

    @abc.abstractmethod
    def values(self, metric: Metric, episode: Episode, metrics: Float[Array, "R T"]) -> Float[Array, "R T"]:
        """B_t of every rollout of an episode; `metrics` are the values of the metric in use, of every rollout."""


@register("null")
class NullBaseline(Baseline):
    """`null`: nothing. Admissible as a constant is."""

    coupled: ClassVar[bool] = False

    def values(self, metric: Metric, episode: Episode, metrics: Float[Array, "R T"]) -> Float[Array, "R T"]:
        return jnp.zeros_like(metrics)


@register("oracle")
class OracleBaseline(Baseline):
    """`oracle`: what the best arms would have earned in the same instance, by the metric in use.

    Admissible: a function of the instance, and at most of the past before t.
    """

    reads_world: ClassVar[bool] = True

    def values(self, metric: Metric, episode: Episode, metrics: Float[Array, "R T"]) -> Float[Array, "R T"]:
        return jax.vmap(lambda rollout: metric.oracle(episode, rollout))(episode.rollouts)


@register("self")
class SelfPlay(Baseline):
    """`self`: what the other rollouts of the same episode earned, on average, by the metric in use.

    Admissible: the other rollouts share the instance and no policy noise. Every rollout is a baseline of the others.
    """

    reads_world: ClassVar[bool] = True
    compares_rollouts: ClassVar[bool] = True

    def values(self, metric: Metric, episode: Episode, metrics: Float[Array, "R T"]) -> Float[Array, "R T"]:
        others = metrics.shape[0] - 1
        return (jnp.sum(metrics, axis=0) - metrics) / others


@register("value")
class ValueFunction(Baseline):
    """`value`: the expected reward from here on given the past, by look-aheads under the model.

    Admissible: look-aheads start from the past before t and draw their own pseudo-actions.
    """

    looks_ahead: ClassVar[bool] = True
    single_users: ClassVar[bool] = True
    coupled: ClassVar[bool] = False
    lookaheads: int = eqx.field(static=True, default=8)

    def values(self, metric: Metric, episode: Episode, metrics: Float[Array, "R T"]) -> Float[Array, "R T"]:
        return jax.vmap(lambda rollout: look_ahead(episode, rollout, self.lookaheads, first_arm_played=False).played)(
            episode.rollouts
        )
