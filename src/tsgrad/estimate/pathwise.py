"""The gradient of batches: a whole episode, differentiated, with scores where one user changes much.

A batch is a number of users whose arms are drawn independently, each with the arms' probabilities p. Let one of n users
be moved from arm j to arm k. What follows changes from f(N' + e_j) to f(N' + e_k), N' being the counts of the others,
and the gradient of E f is the sum of p_k' p_j (f(N' + e_k) - f(N' + e_j)) over k, j and users. Once an arm's belief is
worth some tens of rewards, f hardly bends on the way, and the difference is the mean of the derivatives at both ends.
Both ends are batches that can be drawn. Averaged over them, a draw of counts N and of the evidence E_k that each arm
gave moves, with s_k = p_k' / p_k and L = sum_k s_k N_k, by

    dN_k = (s_k N_k + p_k (n s_k - L)) / 2,    dE_k = (s_k E_k + e_k p_k (n s_k - L)) / 2,

where e_k is what one more reward is expected to say in this world: the users of arm k count for more, and fresh ones
come. The error is that of the trapezoidal rule, one over the square of the number of rewards that the belief is worth.

Users who get an arm of which too little is known have a score instead, which has no bias: the log-likelihood of their
number, times what was earned after this batch. The noise of that grows with their number, which is small. What a batch
itself earns is expected to be n p_k times the value of each arm, and has no noise of this kind at all.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.lax import stop_gradient
from jaxtyping import Array, Float, Integer

from tsgrad.checks import BadInput
from tsgrad.estimate.estimator import Estimator
from tsgrad.estimate.metrics_and_baselines import SeparableMetric
from tsgrad.policies import SamplingPolicy, split
from tsgrad.problems import AnyProblem, Context, Sums
from tsgrad.simulation import (
    Conditions,
    Counted,
    Crowd,
    Episode,
    Item,
    Known,
    Moment,
    Player,
    PolicyNoise,
    Traced,
    Trajectory,
    crowd_of,
    draw_instance,
    regret,
    roll_out,
)
from tsgrad.streams import Address, Stream

KNOWN = 16.0  # rewards that make an arm known well enough to be differentiated
_RARE = 1e-6  # a probability below which an arm is not differentiated: its square is next to nothing in float32


def gradient_used(
    problem: AnyProblem, policy: SamplingPolicy, estimator: Estimator, conditions: Conditions
) -> Literal["score", "pathwise"]:
    """Returns which gradient an estimator gives under conditions: the pathwise one where users are counted.

    In batches that are allocated in proportion it is the only one: counts are nearly deterministic there, and their
    score is mostly noise.

        >>> import tsgrad as tg
        >>> problem = tg.GaussianBandit(arms=3)
        >>> days = tg.Conditions(batch=1000)
        >>> gradient_used(problem, tg.BonusThompson(problem), Estimator(), days)
        'pathwise'
    """
    crowd = crowd_of(conditions, problem, policy)
    proportional = not conditions.every_user and conditions.allocation == "proportional"
    why_not = None
    if not crowd.counted:
        why_not = "users must be many and only counted: independent arms, no contexts, no memory"
    elif not isinstance(estimator.metric, SeparableMetric):
        why_not = f"metric {estimator.metric_name!r} does not add up over steps: use 'mean', 'obs' or 'bayes'"
    elif estimator.single_time or estimator.world != "true":
        why_not = "it looks at all steps and at the true world: leave out single_time and world"
    elif conditions.after is not None and problem.model is not problem.truth:
        why_not = "what a final choice is worth can be differentiated only where the model is right"
    if estimator.gradient == "pathwise" or (proportional and estimator.gradient == "auto"):
        if why_not is not None:
            raise BadInput(f"gradient 'pathwise' is not available here: {why_not}")
        return "pathwise"
    if estimator.gradient == "score" and proportional:
        raise BadInput(
            "gradient must be 'pathwise' with allocation 'proportional': counts are nearly deterministic there, and"
            " their score is mostly noise"
        )
    return "score" if estimator.gradient == "score" or why_not is not None else "pathwise"


class Moved(NamedTuple):
    """Counts of a batch, and how they move with the meta-parameters.

    Attributes:
        users: how many each arm has, as they were drawn [K].
        expected: how many there were expected to be [K].
        own: one; its derivative is how much more the users of an arm count [K].
        fresh: zero; its derivative is how many users come to an arm [K].
        log_chance: whose derivative is the score of the counts that are not differentiated.

    """

    users: Float[Array, "K"]
    expected: Float[Array, "K"]
    own: Float[Array, "K"]
    fresh: Float[Array, "K"]
    log_chance: Float[Array, ""]


class MovedSums(NamedTuple):
    """Sums that a batch is paid, and how they move: by the weights of its users, and by one expected reward.

    Axes: those of the sums, with one for the delay in front where delays are random.
    """

    sums: Sums
    one: Sums
    own: Float[Array, "*d K"]
    fresh: Float[Array, "*d K"]
    total: Float[Array, ""]


class Differentiated(Crowd):
    """Users who are counted, in a form that can be differentiated; they are the same users as those of `Counted`."""

    counted: ClassVar[bool] = True
    users: Counted = Counted()

    def contexts(self, of_users: Context, t: Integer[Array, "T"], conditions: Conditions, horizon: int) -> Context:
        return self.users.contexts(of_users, t, conditions, horizon)

    def decide(
        self, player: Player, known: Known, context: Context, moment: Moment, noise: PolicyNoise
    ) -> tuple[None, Moved]:
        shares = self.users.shares(player, known, context, moment, noise)
        assert shares is not None  # a sampling policy knows them
        count = stop_gradient(self.users.allocated(stop_gradient(shares), moment, noise))
        expected = jnp.asarray(moment.conditions.size(moment.t), shares.dtype) * shares
        if moment.conditions.allocation == "proportional":
            return None, _moved_in_proportion(count, expected)
        rewards = expected + player.model.strength(known.belief, context)
        return None, _moved(count, expected, shares, stop_gradient((rewards >= KNOWN) & (shares > _RARE)))

    def pay(self, instance: Any, t: Integer[Array, ""], context: Context, played: Moved, plays: Any) -> MovedSums:
        sums = jax.tree.map(stop_gradient, self.users.pay(instance, t, context, played.users, plays))
        mean = instance.nature.means(instance.world, context)
        one = Sums(jnp.ones_like(mean), mean, instance.nature.reward_variances(instance.world))
        total = jnp.sum(sums.total) + (played.expected - stop_gradient(played.expected)) @ mean
        own, fresh = played.own, played.fresh
        if sums.total.ndim > 1:
            chances = instance.conditions.pieces()[:, None]
            own, fresh = jnp.broadcast_to(own, sums.total.shape), chances * fresh
            one = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, sums.total.shape), one)
        return MovedSums(sums, one, own, fresh, total)

    def recorded(self, paid: MovedSums) -> Float[Array, ""]:
        return paid.total

    def total(self, recorded: Float[Array, ""]) -> Float[Array, ""]:
        return recorded

    def whenever_seen(self, paid: MovedSums) -> Sums:
        return self.users.whenever_seen(paid.sums)

    def log_prob(
        self,
        of_user: Callable[[Context, Any, Any], Any],
        shares: Callable[[], Float[Array, "K"]],
        context: Context,
        drawn: Any,
        played: Moved,
    ) -> Float[Array, ""]:
        return played.log_chance

    def evidence(self, model: Any, paid: MovedSums | Sums) -> Any:
        if isinstance(paid, Sums):
            return self.users.evidence(model, paid)
        seen, more = model.evidence_of_sums(paid.sums), model.evidence_of_sums(paid.one)
        return jax.tree.map(lambda drawn, one: paid.own * drawn + paid.fresh * one, seen, more)

    def renew(self, player: Player, known: Known, item: Item, seen: Any) -> Known:
        return known._replace(belief=jax.tree.map(jnp.add, known.belief, self.evidence(player.model, item.paid)))

    def all_play(self, arm_of: Callable[[Context], Any], context: Context, size: Any, arms: int) -> Any:
        return self.users.all_play(arm_of, context, size, arms)

    def summed(self, value_of: Callable[[Context, Any], Any], context: Context, played: Any) -> Float[Array, ""]:
        expected = played.expected if isinstance(played, Moved) else played
        return self.users.summed(value_of, context, expected)

    def counts(self, played: Moved, arms: int) -> Float[Array, "K"]:
        return played.users


def _moved(
    count: Float[Array, "K"], expected: Float[Array, "K"], shares: Float[Array, "K"], known: Float[Array, "K"]
) -> Moved:
    """Counts that were drawn independently: users of known arms move among these, all others have a score."""
    tiny = np.finfo(shares.dtype).tiny
    among = jnp.sum(jnp.where(known, shares, 0))
    part = jnp.where(known, shares, 0) / jnp.maximum(among, tiny)
    log_part = jnp.where(known, jnp.log(jnp.maximum(part, tiny)), 0)
    users = jnp.sum(jnp.where(known, count, 0))
    weight = 0.5 * (log_part - stop_gradient(log_part))  # zero; its derivative is s_k / 2
    arrivals = 0.5 * users * (part - stop_gradient(part)) - stop_gradient(part) * jnp.sum(weight * count)
    others = jnp.where(known | (count == 0), 0, count * jnp.log(jnp.maximum(shares, tiny)))
    log_chance = jnp.sum(others) + jnp.where(users > 0, users * jnp.log(jnp.maximum(among, tiny)), 0)
    return Moved(count, expected, 1 + weight, arrivals, log_chance)


def _moved_in_proportion(count: Float[Array, "K"], expected: Float[Array, "K"]) -> Moved:
    """Counts that are expectations, rounded up or down: one more user is as likely to be one who is there."""
    some = count > 0
    more = expected - stop_gradient(expected)
    own = 1 + jnp.where(some, more / (2 * jnp.maximum(count, 1)), 0)
    return Moved(count, expected, own, jnp.where(some, more / 2, more), jnp.zeros(()))


def pathwise_gradient(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimator: Estimator,
    workload: Traced,
    address: Address,
    *,
    member: bool,
) -> tuple[Float[Array, "P"], Float[Array, ""], Trajectory | None]:
    """Returns the gradient of one episode's reward, its regret, and where a `member` is asked for the first rollout as
    if one user of each batch, taken at random, were all of it: whose scores the Fisher matrix is made of.
    """
    moving, fixed = split(policy)
    model, metric, conditions = problem.model, estimator.metric, workload.conditions
    assert isinstance(metric, SeparableMetric)
    instance = draw_instance(problem, address, workload.horizon, conditions, Differentiated())
    numbers = jnp.arange(estimator.rollouts, dtype=jnp.uint32)

    def earned(moving: Any) -> tuple[Float[Array, ""], tuple[Trajectory, Any]]:
        moved = eqx.combine(moving, fixed)
        rollouts = jax.vmap(lambda number: roll_out(model, moved, instance, address, number))(numbers)
        episode = Episode(model, moved, instance, rollouts, address)
        rewards = jax.vmap(lambda rollout: metric.rewards(episode, rollout))(rollouts)
        # Which arm is chosen in the end moves by jumps; what the belief expects of it does not.
        final = jax.vmap(lambda rollout: instance.final_choice(model, rollout.final_belief)[1])(rollouts)
        later = stop_gradient(jax.lax.cumsum(rewards, axis=1, reverse=True) - rewards + final[:, None])
        advantage = later - stop_gradient(estimator.baseline.values(metric, episode, later))
        total = jnp.sum(rewards) + jnp.sum(final) + jnp.sum(rollouts.arm.log_chance * advantage)
        regrets = jax.vmap(lambda rollout: regret(instance, model, rollout).total)(rollouts)
        return total / len(numbers), (rollouts, jnp.mean(regrets))

    slope, (rollouts, regrets) = jax.grad(earned, has_aux=True)(moving)
    gradient = ravel_pytree(slope)[0]
    if not member:
        return gradient, regrets, None
    noise = address.noise(Stream.MEMBER)
    first: Trajectory = jax.tree.map(lambda leaf: leaf[0], rollouts)

    def one_of(t: Any, counts: Float[Array, "K"]) -> Float[Array, "K"]:
        ends = jnp.cumsum(counts)
        arm = jnp.sum(noise.step(t).uniform(0) * ends[-1] > ends)
        return (arm == jnp.arange(counts.shape[0])).astype(counts.dtype)

    return gradient, regrets, first._replace(arm=jax.vmap(one_of)(first.t, first.arm.users))
