"""Many episodes of one policy."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt32

from tsgrad import native
from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_count
from tsgrad.policies import Policy, prepared
from tsgrad.problems import AnyProblem, FiniteArms
from tsgrad.simulation.blocks import BLOCK, Precision, block_episodes, check_blocks, is_real, over_blocks
from tsgrad.simulation.engines import Engine, choose_engine
from tsgrad.simulation.instance import draw_instance
from tsgrad.simulation.rollout import Trajectory, regret, rollout
from tsgrad.streams import Address, Purpose

CHUNK = 4


class Episodes(NamedTuple):
    """What a policy did over N episodes.

    `trajectories` is kept on request only; its fields have [N, T] first.
    """

    regret: FloatArray  # [N]
    reward: FloatArray  # [N]
    regret_over_time: FloatArray  # [T], what was lost up to each step, averaged over episodes
    pulls: FloatArray | None  # [K], averaged over episodes; None for infinite sets of arms
    trajectories: Trajectory | None


@eqx.filter_jit
def _simulate_block(
    problem: AnyProblem,
    policy: Policy,
    address: Address,
    total: UInt32[Array, ""] | np.uint32,
    block: UInt32[Array, ""],
    horizon: int,
    trajectories: bool,
) -> dict[str, Any]:
    def episode(number: UInt32[Array, ""]) -> tuple[Any, Trajectory]:
        home = address.with_episode(number)
        instance = draw_instance(problem, home, horizon)
        run = rollout(problem.model, policy, instance, home, jnp.uint32(0))
        return regret(instance, run.arm), run

    episodes = block_episodes(block)
    real = is_real(episodes, total)
    lost, runs = jax.vmap(episode)(episodes)
    summary = {
        "regret": jnp.sum(lost, axis=1),
        "reward": jnp.sum(runs.reward, axis=1),
        "lost": jnp.sum(jnp.where(real[:, None], lost, 0), axis=0),
        "pulls": None,
        "trajectories": runs if trajectories else None,
    }
    if isinstance(problem.truth, FiniteArms):
        pulled = runs.arm[:, :, None] == jnp.arange(problem.truth.arms)
        summary["pulls"] = jnp.sum(pulled & real[:, None, None], axis=(0, 1))
    return summary


def simulate(
    problem: AnyProblem,
    policy: Policy,
    *,
    horizon: int,
    episodes: int,
    seed: int,
    purpose: Purpose = Purpose.EVALUATION,
    iteration: int = 0,
    first_episode: int = 0,
    trajectories: bool = False,
    engine: Engine = "auto",
    precision: Precision = "float32",
    chunk: int = CHUNK,
) -> Episodes:
    """Plays `episodes` episodes of `horizon` steps. The same seed gives the same episodes to every policy.

    They are numbered from `first_episode` on, a multiple of 256 (whole blocks): parts are the episodes of one whole.

    >>> from tsgrad.problems import GaussianBandit
    >>> from tsgrad.policies import Thompson
    >>> result = simulate(GaussianBandit(arms=3), Thompson(), horizon=20, episodes=500, seed=0)
    >>> print(f"{result.regret.mean():.1f}, {result.pulls.sum():.0f} pulls")
    6.3, 20 pulls
    """
    horizon = check_count("horizon", horizon, least=1)
    policy = prepared(policy, problem, horizon)
    address = Address.of(seed=seed, purpose=purpose, iteration=iteration)
    check_blocks(episodes, precision, chunk)
    if check_count("first_episode", first_episode, least=0, most=2**32 - 1 - BLOCK - episodes) % BLOCK:
        raise BadInput(f"first_episode must be a multiple of {BLOCK}, got {first_episode}")
    first_block, end = first_episode // BLOCK, first_episode + episodes
    kernel = native.kernel_for(problem, policy)
    not_native = None
    if kernel is None:
        not_native = f"it has no kernel for {type(policy).__name__} on {type(problem).__name__}"
    elif trajectories:
        not_native = "its trajectories hold no beliefs and pseudo-actions"
    blocks: Iterator[dict[str, Any]]
    if choose_engine(engine, not_native) == "native":
        assert kernel is not None
        where: dict[str, Any] = {"horizon": horizon, "seed": seed, "purpose": purpose, "iteration": iteration}
        blocks = native.simulation_blocks(kernel, **where, episodes=end, precision=precision, first_block=first_block)
    else:
        blocks = over_blocks(
            lambda block: _simulate_block(problem, policy, address, np.uint32(end), block, horizon, trajectories),
            episodes=episodes,
            precision=precision,
            chunk=chunk,
            first_block=first_block,
        )
    return _summary(list(blocks), episodes)


def _summary(blocks: list[dict[str, Any]], episodes: int) -> Episodes:
    """What blocks say together: of episodes [.., B] one after the other, of sums [T] or [K] their average."""

    def joined(*parts: Any) -> Any:
        return np.concatenate(parts)[:episodes]

    def every_episode(name: str) -> FloatArray:
        return joined(*(np.ravel(block[name]) for block in blocks)).astype(np.float64)  # type: ignore[no-any-return]

    def average(name: str) -> FloatArray:
        sums = [np.atleast_2d(block[name]).sum(axis=0, dtype=np.float64) for block in blocks]
        return np.asarray(np.sum(sums, axis=0) / episodes)

    kept = [block.get("trajectories") for block in blocks]
    return Episodes(
        regret=every_episode("regret"),
        reward=every_episode("reward"),
        regret_over_time=np.cumsum(average("lost")),
        pulls=None if blocks[0]["pulls"] is None else average("pulls"),
        trajectories=None if kept[0] is None else jax.tree.map(joined, *kept),
    )
