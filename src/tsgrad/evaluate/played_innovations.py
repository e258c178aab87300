"""Innovations of episodes that are simulated under conditions: of every user, or of all of an arm's users at a step.

A model is held against all that happened, in the order in which it did, whether or not the policy had seen it yet: what
is expected of a reward follows from every reward before it.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, UInt32

from tsgrad.arrays import FloatArray
from tsgrad.evaluate.innovations import EXPECTED, innovation
from tsgrad.policies import SamplingPolicy, Thompson
from tsgrad.problems import AnyProblem, FiniteArms, Problem
from tsgrad.simulation import (
    ONE_USER,
    Instance,
    Item,
    Known,
    Player,
    Traced,
    Trajectory,
    Workload,
    crowd_of,
    draw_instance,
    each_user,
    over_blocks,
    roll_out,
)
from tsgrad.streams import Noise, Stream


class PlayedInnovations(NamedTuple):
    """Innovations, and whose they are: the arm, or -1 where nobody came. Axes: [N, M], M users or sums in their order.

    `of_sums` says that each is of the users of one arm and step together.
    """

    arm: np.ndarray[Any, np.dtype[np.int_]]
    value: FloatArray
    of_sums: bool


def played_innovations(problem: AnyProblem, policy: SamplingPolicy, workload: Workload) -> PlayedInnovations:
    """The innovations of the episodes that a prepared policy plays.

    >>> import tsgrad as tg
    >>> problem, days = tg.GaussianBandit(arms=2), tg.Conditions(batch=100)
    >>> two = tg.Workload(horizon=3, episodes=5, seed=0, purpose=tg.Purpose.EVALUATION, conditions=days)
    >>> played_innovations(problem, tg.Thompson(), two).value.shape  # of two arms at three steps
    (5, 6)
    """
    traced = workload.traced
    blocks = over_blocks(lambda block: _block(problem, policy, traced, block), workload)
    arm, value = (np.concatenate(part)[: workload.episodes] for part in zip(*blocks, strict=True))
    of_sums = crowd_of(workload.conditions, problem, policy).counted
    return PlayedInnovations(arm, value.astype(np.float64), of_sums)


@eqx.filter_jit
def _block(problem: AnyProblem, policy: SamplingPolicy, workload: Traced, block: UInt32[Array, ""]) -> Any:
    """Arms and innovations [B, M] of a block of episodes."""
    crowd = crowd_of(workload.conditions, problem, policy)
    of_episode = _of_sums if crowd.counted else _of_users

    def one(number: UInt32[Array, ""]) -> Any:
        home = workload.address.with_episode(number)
        instance = draw_instance(problem, home, workload.horizon, workload.conditions, crowd)
        rollout = roll_out(problem.model, policy, instance, home, jnp.uint32(0))
        return of_episode(problem.model, instance, rollout, home.noise(Stream.PREDICTIVE))

    return jax.vmap(one)(workload.episodes(block))


def _of_sums(
    model: Any, instance: Instance, rollout: Trajectory, noise: Noise
) -> tuple[Integer[Array, "M"], Float[Array, "M"]]:
    """What the users of each arm and step earned, among sums from worlds that are held possible."""

    def step(belief: Any, inputs: Any) -> Any:
        t, context, played = inputs
        law, here = model.posterior(belief), noise.at(t)
        sums = instance.crowd.whenever_seen(instance.pay(t, context, played, None))

        def expected(index: Array) -> Float[Array, "K"]:
            total: Float[Array, K] = model.reward_sums(law.sample(here.at(index, 0)), played, here.at(index, 1)).total
            return total

        drawn = jax.vmap(expected)(jnp.arange(1, EXPECTED + 1))
        found = innovation(sums.total, drawn, here.uniform(jnp.arange(model.arms)))
        arm = jnp.where(played > 0, jnp.arange(model.arms), -1)
        known = instance.crowd.renew(_watching(model), Known(belief, None), Item(context, played, sums), None)
        return known.belief, (arm, found)

    steps = (rollout.t, rollout.context, rollout.arm)
    arm, found = jax.lax.scan(step, model.prior(instance.users), steps)[1]
    return arm.ravel(), found.ravel()


def _of_users(
    model: Problem, instance: Instance, rollout: Trajectory, noise: Noise
) -> tuple[Integer[Array, "M"], Float[Array, "M"]]:
    """What each user paid, among rewards from worlds that are held possible."""
    arm, paid, there = each_user(rollout.arm, rollout.reward)
    users = (rollout.context, arm, paid, there)
    if paid.ndim == 2:  # [T, n] first
        users = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), users)

    def user(belief: Any, inputs: Any) -> Any:
        number, (context, arm, reward, there) = inputs
        law, here = model.posterior(belief), noise.at(number)

        def expected(index: Array) -> Float[Array, ""]:
            return model.reward(law.sample(here.at(index, 0)), context, arm, here.at(index, 1))

        found = innovation(reward, jax.vmap(expected)(jnp.arange(1, EXPECTED + 1)), here.uniform(0))
        known = ONE_USER.renew(_watching(model), Known(belief, None), Item(context, arm, reward), there)
        which = arm if isinstance(model, FiniteArms) else 0
        return known.belief, (jnp.where(there, which, -1), found)

    numbers = jnp.arange(1, paid.size + 1)
    found: tuple[Any, Any] = jax.lax.scan(user, model.prior(instance.users), (numbers, users))[1]
    return found


def _watching(model: Problem) -> Player:
    """Who learns from what happened without having played it, and so remembers nothing."""
    return Player(model, Thompson())
