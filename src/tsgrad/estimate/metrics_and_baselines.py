"""Reward metrics M_t, and baselines B_t that are subtracted from them: what the score is multiplied with.

A metric is the return credited to a rollout from step t to the end. It is admissible where E[M_t | H_{t-1},
pseudo-action_t] is the expected reward from t on; then the gradient is unbiased. With an oracle baseline a metric says
what the best arms would have earned by its own measure.

A baseline reduces the variance of the gradient. It is admissible where, given H_{t-1}, it is independent of the
pseudo-action at t: it may read the instance, other rollouts and the past, never what this rollout's draw at t led to.

`q` and `value`, which play on from every step, are in `tsgrad.estimate.look_ahead`.
"""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tsgrad.policies import Thompson
from tsgrad.problems import Context, IndependentArms, Problem
from tsgrad.registry import register
from tsgrad.simulation import Episode, State, Trajectory, take_step


class Metric(eqx.Module):
    """A reward metric. Subclass it for your own (guide *Add an estimator*), and register it to resume runs that use it.

    Class variables state its properties: `requires` is the kind of problem it is for; `trusts_model` whether it is
    admissible only where the model is right; `reads_world` whether it reads the world, which world="posterior" draws
    from the model; `looks_ahead` whether it plays on from every step, `lookaheads` times; `single_users` whether it
    needs steps of one user each, whose reward is seen before the next step, and no users after the end.
    """

    requires: ClassVar[type] = Problem
    trusts_model: ClassVar[bool] = False
    reads_world: ClassVar[bool] = False
    looks_ahead: ClassVar[bool] = False
    single_users: ClassVar[bool] = False

    @abc.abstractmethod
    def values(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T"]:
        """M_t of one rollout."""

    @abc.abstractmethod
    def oracle(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T"]:
        """What the best arms would have earned by this metric; must not depend on the draw at t, given the past."""


class SeparableMetric(Metric):
    """A metric that adds up over steps: M_t is the sum of `rewards` from t on."""

    @abc.abstractmethod
    def rewards(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T"]:
        """The reward credited to each step."""

    @abc.abstractmethod
    def oracle_rewards(self, episode: Episode) -> Float[Array, "T"]:
        """What the best arm of each step would have earned."""

    def values(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T"]:
        steps = from_here_on(self.rewards(episode, rollout))
        return steps if episode.instance.conditions.after is None else steps + self._final(episode, rollout)

    def oracle(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T"]:
        steps = from_here_on(self.oracle_rewards(episode))
        if episode.instance.conditions.after is None:
            return steps
        return steps + episode.instance.final_choice(episode.model, rollout.final_belief)[2]

    def _final(self, episode: Episode, rollout: Trajectory) -> Float[Array, ""]:
        """What the final choice is worth, which every step had a part in: by the world, or by the belief if trusted."""
        worth, expected, _ = episode.instance.final_choice(episode.model, rollout.final_belief)
        return expected if self.trusts_model else worth


@register("obs")
class ObservedReward(SeparableMetric):
    """`obs`: the rewards themselves. Admissible by definition, even if the model is wrong; the noisiest."""

    def rewards(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T"]:
        return jax.vmap(episode.instance.crowd.total)(rollout.reward)

    def oracle_rewards(self, episode: Episode) -> Float[Array, "T"]:
        return episode.instance.rewards(episode.instance.best_arms())


@register("mean")
class MeanReward(SeparableMetric):
    """`mean`: the expected rewards of the arms played, in the true world.

    Admissible: the arm at s is chosen before the noise of step s is drawn, so that given the past, the world and
    the arm, the reward's expectation is its mean.
    """

    reads_world: ClassVar[bool] = True

    def rewards(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T"]:
        return episode.instance.means(rollout.arm)

    def oracle_rewards(self, episode: Episode) -> Float[Array, "T"]:
        return episode.instance.means(episode.instance.best_arms())


@register("fin")
class FiniteSampleMean(Metric):
    """`fin`: the mean of each arm as well as it can be known by the end, if from t on it alone were pulled.

    Admissible where arms are independent and the model is right: that estimate averages the true mean over what no
    rollout from t on can learn about the arm. Not separable: the estimate changes with t.
    """

    trusts_model: ClassVar[bool] = True
    single_users: ClassVar[bool] = True
    requires: ClassVar[type] = IndependentArms

    def values(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T"]:
        estimates = self._estimates(episode, rollout)
        played = rollout.arm[:, None] == jnp.arange(estimates.shape[1])
        return jnp.sum(from_here_on(played.astype(estimates.dtype)) * estimates, axis=1)

    def oracle(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T"]:
        estimates, best = self._estimates(episode, rollout), episode.instance.best_arms()
        if not jax.tree.leaves(episode.instance.contexts):  # one arm is the best of all steps
            return episode.left * estimates[:, best[0]]
        at_step = best[:, None] == jnp.arange(estimates.shape[1])
        return jnp.sum(from_here_on(at_step.astype(estimates.dtype)) * estimates, axis=1)

    def _estimates(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T K"]:
        model, instance = episode.model, episode.instance
        assert isinstance(model, IndependentArms)
        arms = jnp.arange(model.arms)
        turns = jax.vmap(lambda turn, context: jax.vmap(lambda arm: instance.reward(turn, context, arm))(arms))(
            instance.times, instance.contexts
        )
        evidence = jax.vmap(model.evidence)(turns)
        if instance.no_plays() is None:
            known = jax.tree.map(lambda belief, added: belief + from_here_on(added), rollout.belief, evidence)
        else:
            # By the end an arm would have been played as often as before t, and in all steps from t on.
            played = rollout.arm[:, None] == arms
            last = jnp.cumsum(played, axis=0) - played + episode.left[:, None]
            known = jax.tree.map(
                lambda prior, added: prior + jnp.take_along_axis(jnp.cumsum(added, axis=0), last - 1, axis=0),
                model.prior(instance.horizon),
                evidence,
            )
        return jax.vmap(lambda belief, context: model.posterior_means(belief, context))(known, instance.contexts)


@register("bayes")
class PosteriorMean(SeparableMetric):
    """`bayes`: what the belief at each step expects of the arm played.

    Admissible where the model is right: given the past and the arm, the posterior mean is the expected reward.
    The oracle pulls the best arm alone, from the prior, on this episode's noise: a function of the instance. (The
    posterior mean of the best arm under the run's own belief is not admissible: that belief depends on the draw
    at t through the arm it led to, which biases the gradient.)
    """

    trusts_model: ClassVar[bool] = True

    def rewards(self, episode: Episode, rollout: Trajectory) -> Float[Array, "T"]:
        crowd, model = episode.instance.crowd, episode.model

        def expected(belief: Any, context: Context, played: Any) -> Float[Array, ""]:
            return crowd.summed(lambda context, arm: model.posterior_mean(belief, context, arm), context, played)

        return jax.vmap(expected)(rollout.belief, rollout.context, rollout.arm)

    def oracle_rewards(self, episode: Episode) -> Float[Array, "T"]:
        model, instance = episode.model, episode.instance

        def pull_best(known: tuple[Any, Any], inputs: tuple[Any, Any, Any]) -> tuple[Any, Float[Array, ""]]:
            belief, plays = known
            t, context, best = inputs
            expected = instance.crowd.summed(
                lambda context, arm: model.posterior_mean(belief, context, arm), context, best
            )
            later, _ = take_step(
                model,
                Thompson(),  # whoever pulls, it has no memory
                State(belief, None, plays=plays),
                context,
                choose=lambda: (None, best),
                pay=lambda best: instance.crowd.whenever_seen(instance.pay(t, context, best, plays)),
                crowd=instance.crowd,
            )
            return (later.belief, later.plays), expected

        steps = (instance.times, instance.contexts, instance.best_arms())
        _, expected = jax.lax.scan(pull_best, (model.prior(instance.users), instance.no_plays()), steps)
        return expected


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


def from_here_on(steps: Float[Array, "T *rest"]) -> Float[Array, "T *rest"]:
    """Sums from each step to the last, along the first axis."""
    return jax.lax.cumsum(steps, axis=0, reverse=True)
