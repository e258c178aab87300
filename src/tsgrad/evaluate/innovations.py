"""Innovations: how each reward compares with what the model expected of it, on the scale of a standard normal."""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float, UInt32
from scipy import stats

from tsgrad.arrays import FloatArray
from tsgrad.estimate.recorded import check_draws, check_recorded, over_recorded
from tsgrad.policies import SamplingPolicy
from tsgrad.problems import Problem
from tsgrad.simulation import Precision, Recorded, Trajectory, replay
from tsgrad.streams import Address, Noise, Purpose, Stream

EXPECTED = 255  # rewards that the model expects, drawn for each one that came
_FEWEST = 30  # innovations that a group must have to be tested
TAIL = 2.0  # beyond how many standard deviations an innovation counts as one of the tails
_PERMUTATIONS, _AT_ONCE = 999, 37
LEAST_P = 1 / (1 + _PERMUTATIONS)

Named = tuple[int | None, int, int]  # a group: arm, first and last pull


class Group(NamedTuple):
    """Innovations of one arm at some of its pulls: where the model is right, draws of a standard normal."""

    arm: int | None  # None for infinite sets of arms
    first_pull: int
    last_pull: int
    number: int
    mean: float  # expected: 0
    variance: float  # expected: 1
    tails: float  # the share beyond two standard deviations; expected: 0.0455
    p_mean: float
    p_variance: float
    p_tails: float


@eqx.filter_jit
def _block(
    model: Problem, policy: SamplingPolicy, address: Address, numbers: UInt32[Array, "B"], block: Recorded
) -> Any:
    """Innovations and log-densities [B, T] of a block of recorded episodes."""

    def one(number: Array, recorded: Recorded) -> Any:
        rollout, log_prob, led_to_arm = replay(model, policy, recorded)
        noise = address.with_episode(number).noise(Stream.PREDICTIVE)
        return _of_rollout(model, rollout, noise), log_prob, led_to_arm

    return jax.vmap(one)(numbers, block)


def _of_rollout(model: Problem, rollout: Trajectory, noise: Noise) -> Float[Array, "T"]:
    """Where each reward ranks among rewards drawn from worlds that the belief before it holds possible."""

    def one(inputs: tuple[Any, Any, Any, Any, Any]) -> Float[Array, ""]:
        t, context, belief, arm, reward = inputs
        law, here = model.posterior(belief), noise.at(t)

        def expected(index: Array) -> Float[Array, ""]:
            world = law.sample(here.at(index, 0))
            return model.reward(world, context, arm, here.at(index, 1))

        return innovation(reward, jax.vmap(expected)(jnp.arange(1, EXPECTED + 1)), here.uniform(0))

    found: Float[Array, T] = jax.lax.map(one, (rollout.t, rollout.context, rollout.belief, rollout.arm, rollout.reward))
    return found


def innovation(
    reward: Float[Array, "*n"], expected: Float[Array, "e *n"], uniform: Float[Array, "*n"]
) -> Float[Array, "*n"]:
    """What came, among what was expected.

    Under the model all of them come from one law, so that the rank, with ties broken at random and spread evenly
    within its step, is exactly uniform, whatever the problem; its normal quantile is the innovation.

        >>> print(f"{innovation(jnp.array(2.0), jnp.array([0.0, 1.0, 3.0]), jnp.array(0.5)):.3f}")  # of rank 5 / 8
        0.319
    """
    below, tied = jnp.sum(expected < reward, axis=0), jnp.sum(expected == reward, axis=0)
    rank = (below + uniform * (tied + 1)) / (expected.shape[0] + 1)
    return ndtri(jnp.clip(rank, 1e-6, 1 - 1e-6))


def innovations(
    model: Problem, policy: SamplingPolicy, episodes: Recorded, *, seed: int, precision: Precision = "float32"
) -> FloatArray:
    """The innovation of every reward [N, T]."""
    episodes = episodes.with_contexts()
    number, _ = check_recorded(model, episodes)
    address = Address.of(seed=seed, purpose=Purpose.EVALUATION)
    blocks = over_recorded(lambda numbers, block: _block(model, policy, address, numbers, block), episodes, precision)
    found, log_prob, led_to_arm = (np.concatenate(part)[:number] for part in zip(*blocks, strict=True))
    check_draws(log_prob, led_to_arm)
    return found.astype(np.float64)


def grouped(arm: Any, found: FloatArray, expected: tuple[Any, FloatArray] | None = None, *, pulls: int) -> list[Group]:
    """Innovations by arm and pull number: each arm's all together, and its pulls 1, 2, 3-4, 5-8 and so on to `pulls`.

    `arm` [N, M] says whose each of them is: -1 for nobody's; None where there are infinitely many. They are held
    against a standard normal, or against other arms and innovations, where these are given.
    """
    usual = {} if expected is None else _members(*expected, pulls)
    groups = []
    for (which, first, last), members in _members(arm, found, pulls).items():
        beside = usual.get((which, first, last))
        if expected is None or beside is not None:
            groups.append(_group(which, first, min(last, pulls), members, beside))
    return groups


def _members(arm: Any, found: FloatArray, pulls: int) -> dict[Named, FloatArray]:
    """The innovations of each group that has enough of them, by arm and first and last pull."""
    members = {named: found[inside] for named, inside in _groups(arm, found.shape, pulls)}
    return {named: those for named, those in members.items() if len(those) >= _FEWEST}


def _groups(arm: Any, shape: tuple[int, ...], pulls: int) -> Iterator[tuple[Named, Any]]:
    """Every group, by arm and first and last pull, and which innovations are in it [N, M]."""
    if arm is None:
        arms: list[int | None] = [None]
        arm = np.zeros(shape, dtype=int)
    else:
        arms = list(range(int(arm.max()) + 1))
    played = arm[:, :, None] == np.arange(len(arms))
    pull = np.take_along_axis(np.cumsum(played, axis=1), arm[:, :, None], axis=2)[:, :, 0]
    edges = [0, *(2**power for power in range(pulls.bit_length() + 1))]
    spans = [(1, pulls), *((low + 1, high) for low, high in itertools.pairwise(edges))]
    for which, (first, last) in itertools.product(arms, spans):
        yield (which, first, last), (arm == (which or 0)) & (pull >= first) & (pull <= last)


def _group(arm: int | None, first: int, last: int, members: FloatArray, beside: FloatArray | None) -> Group:
    """Each statistic with the chance to be this far off where the model is right, on either side."""
    number = len(members)
    if beside is not None:
        statistics = [(sample, sample**2, (np.abs(sample) > TAIL).astype(float)) for sample in (members, beside)]
        chances = [_same_mean(ours, theirs) for ours, theirs in zip(*statistics, strict=True)]
        shown = float(members.mean()), float(np.mean(members**2)), float(statistics[0][2].mean())
        return Group(arm, first, last, number, *shown, *chances)
    below = stats.chi2.cdf(np.sum(members**2), number)
    beyond = int(np.sum(np.abs(members) > TAIL))
    return Group(
        arm,
        first,
        last,
        number,
        float(members.mean()),
        float(np.mean(members**2)),
        beyond / number,
        float(2 * stats.norm.sf(np.sqrt(number) * abs(members.mean()))),
        float(2 * min(below, 1 - below)),
        float(stats.binomtest(beyond, number, 2 * stats.norm.sf(TAIL)).pvalue),
    )


def _same_mean(ours: FloatArray, theirs: FloatArray) -> float:
    """The chance of means this far apart where they are the same (Welch's test)."""
    if np.ptp(ours) == np.ptp(theirs) == 0:
        return float(ours[0] == theirs[0])
    return float(stats.ttest_ind(ours, theirs, equal_var=False).pvalue)


def p_of_permutations(arm: Any, found: FloatArray, expected: tuple[Any, FloatArray], *, pulls: int) -> float:
    """The chance that groups differ as much from those expected as they do, where the model is right.

    Then any half of all episodes could have been the ones expected: the statistic that differs most, of all groups, is
    held against what it is for halves that are drawn at random. That has the level asked for, whatever depends on what.
    """
    number, total = len(found), np.concatenate([found, expected[1]])
    arms = None if arm is None else np.concatenate([arm, expected[0]])
    sums, sizes = [], []  # over each episode, [G, N]; the sums add up to zero
    for _, inside in _groups(arms, total.shape, pulls):
        if min(inside[:number].sum(), inside[number:].sum()) >= _FEWEST:
            for statistic in (total, total**2, np.abs(total) > TAIL):
                spread = np.std(statistic[inside])
                scaled = (statistic - np.mean(statistic[inside])) / spread if spread > 0 else 0.0 * total
                sums.append(np.sum(np.where(inside, scaled, 0.0), axis=1))
                sizes.append(np.sum(inside, axis=1, dtype=float))
    if not sums:
        return 1.0
    values, counts = np.array(sums).T, np.array(sizes).T

    def farthest(half: FloatArray) -> FloatArray:
        here = np.maximum(half @ counts, 1.0)
        there = np.maximum(counts.sum(axis=0) - here, 1.0)
        return np.asarray(np.max(np.abs(half @ values) * np.sqrt(1 / here + 1 / there), axis=1))

    half = (np.arange(len(total)) < number).astype(float)
    observed, generator = float(farthest(half[None])[0]), np.random.default_rng(0)
    as_far = sum(
        np.sum(farthest(generator.permuted(np.tile(half, (_AT_ONCE, 1)), axis=1)) >= observed * (1 - 1e-9))
        for _ in range(_PERMUTATIONS // _AT_ONCE)
    )
    return float((1 + as_far) / (1 + _PERMUTATIONS))
