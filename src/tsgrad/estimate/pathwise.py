"""The pathwise gradient of large batches: a whole episode, differentiated.

How many users get an arm is a smooth function of the arms' shares once they are many, and so is what they earn and what
is learned from it. The derivative of a count or a sum is that of its normal approximation (`tsgrad.laws.counts`); all
else is exact. The noise of this gradient falls with the size of batches, where that of scores grows: n users whose
arms were drawn independently have a score of variance n. Its bias comes from treating counts as if they were not whole
numbers, and falls with the size of batches too.
"""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from tsgrad.checks import BadInput
from tsgrad.estimate.estimator import Estimator
from tsgrad.estimate.metrics_and_baselines import SeparableMetric
from tsgrad.policies import SamplingPolicy, split
from tsgrad.problems import AnyProblem
from tsgrad.simulation import (
    Conditions,
    Episode,
    Traced,
    Trajectory,
    crowd_of,
    draw_instance,
    regret,
    roll_out,
)
from tsgrad.streams import Address, Stream

LEAST_BATCH = 20  # users: below, scores are quiet enough, and have no bias


def gradient_used(
    problem: AnyProblem, policy: SamplingPolicy, estimator: Estimator, conditions: Conditions
) -> Literal["score", "pathwise"]:
    """Which gradient an estimator gives under conditions: the pathwise one where batches are counted and large.

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
    if estimator.gradient == "score" or why_not is not None or np.mean(conditions.batch) < LEAST_BATCH:
        return "score"
    return "pathwise"


def pathwise_gradient(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimator: Estimator,
    workload: Traced,
    address: Address,
    *,
    member: bool,
) -> tuple[Float[Array, "P"], Float[Array, ""], Trajectory | None]:
    """The gradient of one episode's reward, its regret, and where a `member` is asked for the rollout as if one user of
    each batch, taken at random, were all of it: whose scores the Fisher matrix is made of.
    """
    moving, fixed = split(policy)
    model, metric, conditions = problem.model, estimator.metric, workload.conditions
    crowd = crowd_of(conditions, problem, policy)
    assert isinstance(metric, SeparableMetric)

    def earned(moving: Any) -> tuple[Float[Array, ""], tuple[Trajectory, Any]]:
        moved = eqx.combine(moving, fixed)
        instance = draw_instance(problem, address, workload.horizon, conditions, crowd)
        rollout = roll_out(model, moved, instance, address, jnp.uint32(0))
        episode = Episode(model, moved, instance, rollout, address)
        # Which arm is chosen in the end moves by jumps; what the belief expects of it does not.
        final = instance.final_choice(model, rollout.final_belief)[1]
        total = jnp.sum(metric.rewards(episode, rollout)) + final
        return total, (rollout, regret(instance, model, rollout).total)

    slope, (rollout, regrets) = jax.grad(earned, has_aux=True)(moving)
    gradient = ravel_pytree(slope)[0]
    if not member:
        return gradient, regrets, None
    noise = address.noise(Stream.MEMBER)

    def one_of(t: Any, counts: Float[Array, "K"]) -> Float[Array, "K"]:
        ends = jnp.cumsum(counts)
        arm = jnp.sum(noise.step(t).uniform(0) * ends[-1] > ends)
        return (arm == jnp.arange(counts.shape[0])).astype(counts.dtype)

    counts = jax.lax.stop_gradient(rollout.arm)
    return gradient, regrets, rollout._replace(arm=jax.vmap(one_of)(rollout.t, counts))
