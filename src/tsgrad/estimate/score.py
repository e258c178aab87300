"""The score, and what it is multiplied with: from a record of an episode to the gradient of every estimator.

The score of a draw carries the noise of every arm, also of those that had no part in the choice. What it is multiplied
with depends on the draw through nothing but the arm that it led to. So each arm's score may be replaced with its
expectation given that arm and the draws of the others: that the loser k drew less than the winner, E[grad log f(X) |
X < c] = grad log F(c), and that the winner drew more than the runner-up. That is the conditional score: no bias, and a
fraction of the noise. It needs a law that knows what to expect (`OrderedLaw`), and a policy that plays the largest.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from tsgrad.estimate.estimator import Estimator, ScoreName
from tsgrad.estimate.metrics_and_baselines import Baseline, Metric
from tsgrad.laws import OrderedLaw
from tsgrad.policies import Memoryless, SamplingPolicy, parameter_names, prepared, split
from tsgrad.problems import AnyProblem, Context, Problem
from tsgrad.simulation import (
    EVERY_USER,
    ONE_USER,
    Conditions,
    Crowd,
    Episode,
    Item,
    Player,
    State,
    Trajectory,
    feedback_of,
)
from tsgrad.streams import Address, Purpose, Stream


class Play(NamedTuple):
    """How episodes are played: who comes at a step, and under which conditions."""

    crowd: Crowd
    conditions: Conditions


SINGLE_USERS = Play(ONE_USER, EVERY_USER)


def score_used(problem: AnyProblem, policy: SamplingPolicy, estimator: Estimator, horizon: int) -> ScoreName:
    """Which score an estimator is made of here: the conditional one where it is asked for and the law allows it.

    >>> import tsgrad as tg
    >>> problem = tg.LinearBandit(features=[[1.0, 0.0], [0.0, 1.0]])  # one normal law over vectors
    >>> score_used(problem, tg.ReshapedThompson(problem), Estimator(), horizon=10)
    'draw'
    """
    if estimator.score == "draw":
        return "draw"
    model, ready = problem.model, prepared(policy, problem, horizon)

    def law() -> Any:
        context = problem.truth.draw_context(
            None, Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.CONTEXT), jnp.int32(1)
        )
        return ready.law(
            model, model.prior(horizon), ready.init(model), context, EVERY_USER.clock(jnp.int32(1), horizon)
        )

    return "conditional" if _is_conditional(ready, model, eqx.filter_eval_shape(law)) else "draw"


def _is_conditional(policy: SamplingPolicy, model: Problem, law: Any) -> bool:
    return isinstance(law, OrderedLaw) and policy.plays_largest(model)


def _log_prob(
    policy: SamplingPolicy, model: Problem, law: Any, draw: Any, arm: Any, context: Context, score: ScoreName
) -> Float[Array, ""]:
    """What the score of a step is the derivative of."""
    if score == "draw" or not _is_conditional(policy, model, law):
        return jnp.asarray(law.log_prob(draw))
    ranks = context.offered(jax.lax.stop_gradient(draw.order))
    arms = jnp.arange(ranks.shape[0])
    runner_up = jnp.max(jnp.where(arms == arm, -jnp.inf, ranks))
    expected = law.expected_log_prob(jnp.where(arms == arm, runner_up, ranks[arm]), arms != arm)
    return jnp.sum(expected if context.available is None else jnp.where(context.available, expected, 0))


def _step_log_prob(
    model: Problem,
    policy: SamplingPolicy,
    belief: Any,
    memory: Any,
    step: Any,
    horizon: int,
    score: ScoreName,
    play: Play,
) -> Float[Array, ""]:
    """What the score of one step is the derivative of, under conditions; the step is as in `_steps_of`."""
    t, context, _, drawn, played, _ = step
    crowd, conditions = play
    clock = conditions.clock(t, horizon)

    def of_user(context: Context, draw: Any, arm: Any) -> Float[Array, ""]:
        law = policy.law(model, belief, memory, context, clock)
        return _log_prob(policy, model, law, draw, arm, context, score)

    def shares() -> Float[Array, "K"]:
        return conditions.floored(policy.shares(model, belief, memory, context, clock), context)

    return crowd.log_prob(of_user, shares, context, drawn, played)


def _steps_of(rollout: Trajectory) -> Any:
    """What a score needs of every step: t, context, belief, pseudo-action, arm and reward."""
    return rollout.t, rollout.context, rollout.belief, rollout.pseudo_action, rollout.arm, rollout.reward


def log_likelihood(
    model: Problem,
    policy: SamplingPolicy,
    rollout: Trajectory,
    weights: Float[Array, "T"],
    score: ScoreName = "draw",
    play: Play = SINGLE_USERS,
) -> Float[Array, ""]:
    """sum_t weights_t log p(pseudo-action_t; past), with pseudo-actions, arms and rewards held fixed; or, for the
    conditional score, what is expected of it given the arm. Where users are counted, p is the chance of the counts.

    The memory of the policy is computed anew, so that derivatives go through it where it depends on the
    meta-parameters. `play` says under which conditions.
    """
    horizon = rollout.t.shape[0]
    crowd, conditions = play
    feedback = feedback_of(conditions, crowd)

    # Recomputed on the way back instead of stored: a step is cheaper to redo than to remember.
    @jax.checkpoint
    def step(carried: Any, inputs: Any) -> tuple[Any, Float[Array, ""]]:
        _, context, belief, _, arm, reward, weight = inputs
        if plain:
            term = _step_log_prob(model, policy, belief, carried, inputs[:-1], horizon, score, play)
            return policy.remember(carried, context, arm, reward), weight * term
        term = _step_log_prob(model, policy, belief, carried.memory, inputs[:-1], horizon, score, play)
        later = feedback.learn(crowd, Player(model, policy), carried, Item(context, arm, reward))
        return later, weight * term

    # Who is counted is not remembered; of single users that are seen at once memories need nothing but themselves.
    plain = crowd.counted or (crowd.single and conditions.at_once)

    def first() -> Any:
        memory = policy.init(model)
        if plain:
            return memory
        item = Item(*jax.tree.map(lambda leaf: leaf[0], (rollout.context, rollout.arm, rollout.reward)))
        shapes = jax.eval_shape(lambda: item)
        belief = jax.tree.map(lambda leaf: leaf[0], rollout.belief)
        return State(belief, memory, feedback.nothing(model, lambda: shapes))

    _, terms = jax.lax.scan(step, first(), (*_steps_of(rollout), weights))
    return jnp.sum(terms)


def weighted_score(
    model: Problem,
    policy: SamplingPolicy,
    rollout: Trajectory,
    weights: Float[Array, "T"],
    score: ScoreName = "draw",
    play: Play = SINGLE_USERS,
) -> Float[Array, "P"]:
    """sum_t weights_t S_t, with S_t the score of step t in the meta-parameters.

    Every estimator's gradient comes from here.
    """
    moving, fixed = split(policy)

    def surrogate(moving: Any) -> Float[Array, ""]:
        return log_likelihood(model, eqx.combine(moving, fixed), rollout, weights, score, play)

    return ravel_pytree(jax.grad(surrogate)(moving))[0]


def gradients_of(episode: Episode, estimators: tuple[Estimator, ...]) -> Float[Array, "E P"]:
    """Every estimator's gradient from one record of an episode."""
    rollouts = most_rollouts(estimators)
    advantages = _Advantages(episode)
    weights = [
        jnp.pad(advantages.of(estimator) / estimator.rollouts, ((0, rollouts - estimator.rollouts), (0, 0)))
        for estimator in estimators
    ]
    found: dict[int, Float[Array, P]] = {}
    for score in sorted({estimator.score for estimator in estimators}):
        of_score = [index for index, estimator in enumerate(estimators) if estimator.score == score]
        sums = jnp.sum(_scores(episode, jnp.stack([weights[index] for index in of_score]), score), axis=1)
        found.update(zip(of_score, sums, strict=True))
    return jnp.stack([found[index] for index in range(len(estimators))])


def step_weights(episode: Episode, estimator: Estimator) -> Float[Array, "T"]:
    """How often each step's score counts in the Fisher matrix: once, or T times at the one random step."""
    weights = jnp.ones(episode.instance.horizon)
    return _one_step_only(episode, weights) if estimator.single_time else weights


def step_products(
    model: Problem,
    policy: SamplingPolicy,
    rollouts: Trajectory,
    weights: Float[Array, "B T"],
    score: ScoreName,
    play: Play,
) -> Float[Array, "P P"]:
    """The outer products of the scores of steps, weighted and summed over steps and rollouts, one per episode [B, T].

    Scores of different steps are uncorrelated, so that the mean over episodes is the Fisher matrix of their decisions.
    The outer product of a whole rollout's score has the same mean, but the noise of all pairs of steps. A policy whose
    memory depends on the meta-parameters has scores that go through it, and takes that: they are not known apart.
    """
    if not isinstance(policy, Memoryless):

        def of_rollout(rollout: Trajectory, weights: Float[Array, "T"]) -> Float[Array, "P"]:
            return weighted_score(model, policy, rollout, jnp.sqrt(weights), score, play)

        scores = jax.vmap(of_rollout)(rollouts, weights)
        return jnp.einsum("bp,bq->pq", scores, scores, precision="highest")
    moving, fixed = split(policy)
    horizon = weights.shape[-1]

    def of_step(step: Any) -> Float[Array, "P"]:
        def surrogate(moving: Any) -> Float[Array, ""]:
            moved, belief = eqx.combine(moving, fixed), step[2]
            return _step_log_prob(model, moved, belief, None, step, horizon, score, play)

        return ravel_pytree(jax.grad(surrogate)(moving))[0]

    def add(sums: Float[Array, "P P"], inputs: Any) -> tuple[Float[Array, "P P"], None]:
        step, weights = inputs
        scores = jax.vmap(of_step)(step)
        return sums + jnp.einsum("b,bp,bq->pq", weights, scores, scores, precision="highest"), None

    by_time = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, 0), (_steps_of(rollouts), weights))
    size = len(parameter_names(policy))
    return jax.lax.scan(add, jnp.zeros((size, size), weights.dtype), by_time)[0]


def _scores(episode: Episode, weights: Float[Array, "E R T"], score: ScoreName) -> Float[Array, "E R P"]:
    """The weighted score of each rollout, for several weights."""
    play = Play(episode.instance.crowd, episode.instance.conditions)

    def of_rollout(rollout: Any, weights: Float[Array, "E T"]) -> Float[Array, "E P"]:
        return jax.vmap(lambda weights: weighted_score(episode.model, episode.policy, rollout, weights, score, play))(
            weights
        )

    return jax.vmap(of_rollout, in_axes=(0, 1), out_axes=1)(episode.rollouts, weights)


def most_rollouts(estimators: tuple[Estimator, ...]) -> int:
    """How many rollouts an episode must have to serve all estimators."""
    return max(estimator.rollouts for estimator in estimators)


class _Advantages:
    """M_t - B_t of several estimators on one episode; what estimators share is computed once."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.computed: dict[Any, Float[Array, "R T"]] = {}

    def of(self, estimator: Estimator) -> Float[Array, "R T"]:
        metric, baseline, used = estimator.metric, estimator.baseline, estimator.rollouts
        episode = self.episode.first(used)
        metrics = self._once(
            _identity(metric), lambda: jax.vmap(partial(metric.values, self.episode))(self.episode.rollouts)
        )[:used]
        shared = (used, _identity(baseline), _identity(metric) if baseline.coupled else None)
        advantages = metrics - self._once(shared, lambda: baseline.values(metric, episode, metrics))
        return _one_step_only(episode, advantages) if estimator.single_time else advantages

    def _once(self, key: Any, compute: Callable[[], Float[Array, "R T"]]) -> Float[Array, "R T"]:
        if key not in self.computed:
            self.computed[key] = compute()
        return self.computed[key]


def _identity(part: Metric | Baseline) -> Any:
    """What tells a metric or baseline from another: its structure, or itself where it holds numbers of its own."""
    leaves, structure = jax.tree.flatten(part)
    return id(part) if leaves else structure


def _one_step_only(episode: Episode, advantages: Float[Array, "*R T"]) -> Float[Array, "*R T"]:
    """The advantages at one step per episode, drawn at its own address, times T; zero at all others."""
    horizon = episode.instance.horizon
    uniform = episode.address.noise(Stream.TIME).uniform(0)
    chosen = jnp.minimum(jnp.ceil(uniform * horizon), horizon)
    return jnp.where(episode.instance.times == chosen, horizon * advantages, 0)
