"""Many episodes of one policy."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt32

from tsgrad import native
from tsgrad.arrays import FloatArray
from tsgrad.checks import check_finite_results, check_flag
from tsgrad.policies import Policy, prepared
from tsgrad.problems import AnyProblem, FiniteArms, check_precision
from tsgrad.simulation.engines import Engine, EngineName, JaxEngine, NativeEngine, choose_engine
from tsgrad.simulation.instance import draw_instance
from tsgrad.simulation.rollout import Trajectory, regret, roll_out
from tsgrad.simulation.workload import Traced, Workload, WorkloadOptions
from tsgrad.streams import Purpose


class Episodes(NamedTuple):
    """What a policy did over N episodes.

    `trajectories` is kept on request only; its fields have [N, T] first.
    """

    regret: FloatArray  # [N]
    reward: FloatArray  # [N]
    regret_over_time: FloatArray  # [T], the regret up to each step, averaged over episodes
    pulls: FloatArray | None  # [K], averaged over episodes; None for infinite sets of arms
    trajectories: Trajectory | None


@eqx.filter_jit
def _simulate_block(
    problem: AnyProblem, policy: Policy, workload: Traced, block: UInt32[Array, ""], trajectories: bool
) -> dict[str, Any]:
    def episode(number: UInt32[Array, ""]) -> tuple[Any, Trajectory]:
        home = workload.address.with_episode(number)
        instance = draw_instance(problem, home, workload.horizon, workload.conditions)
        played = roll_out(problem.model, policy, instance, home, jnp.uint32(0))
        lost = regret(instance, played.arm)
        # From a belief that is no number an arm would follow all the same: the first one.
        known = jnp.array([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(played.final_belief)]).all()
        return jnp.where(known, lost, jnp.nan), played

    episodes = workload.episodes(block)
    real = workload.is_real(episodes)
    regrets, played = jax.vmap(episode)(episodes)
    summary = {
        "regret": jnp.sum(regrets, axis=1),
        "reward": jnp.sum(played.reward, axis=1),
        "step_regret": jnp.sum(jnp.where(real[:, None], regrets, 0), axis=0),
        "pulls": None,
        "trajectories": played if trajectories else None,
    }
    if isinstance(problem.truth, FiniteArms):
        pulled = played.arm[:, :, None] == jnp.arange(problem.truth.arms)
        summary["pulls"] = jnp.sum(pulled & real[:, None, None], axis=(0, 1))
    return summary


def simulation_engine(
    problem: AnyProblem, policy: Policy, *, engine: EngineName = "auto", trajectories: bool = False
) -> Engine:
    """The engine that simulates a prepared policy; it is asked for blocks of any workload."""
    not_native = None
    if native.kernel_for(problem, policy) is None:
        not_native = f"it has no kernel for {type(policy).__name__} on {type(problem).__name__}"
    elif trajectories:
        not_native = "its trajectories hold no beliefs and pseudo-actions"

    def on_native(policy: Policy, workload: Workload) -> Iterator[dict[str, Any]]:
        kernel = native.kernel_for(problem, policy)
        assert kernel is not None
        return native.simulation_blocks(kernel, **workload.for_kernels)

    return choose_engine(
        engine,
        not_native=not_native,
        jax=JaxEngine(lambda policy, traced, block: _simulate_block(problem, policy, traced, block, trajectories)),
        native_engine=NativeEngine(on_native),
    )


def simulate(
    problem: AnyProblem,
    policy: Policy,
    *,
    trajectories: bool = False,
    engine: EngineName = "auto",
    **workload: Unpack[WorkloadOptions],
) -> Episodes:
    """Plays a policy on a problem. The same seed gives the same episodes to every policy.

    Args:
        problem: what is played.
        policy: what plays it.
        trajectories: whether to keep every step of every episode.
        engine: "jax", "native", or "auto" for the fastest that can run.
        workload: which episodes: `horizon`, `episodes`, `seed`, and the other fields of `Workload`.

    Returns:
        Regret and reward of each episode, regret over time, and pulls of each arm.

    >>> from tsgrad.problems import GaussianBandit
    >>> from tsgrad.policies import Thompson
    >>> result = simulate(GaussianBandit(arms=3), Thompson(), horizon=20, episodes=500, seed=0)
    >>> print(f"{result.regret.mean():.1f}, {result.pulls.sum():.0f} pulls")
    6.3, 20 pulls

    """
    checked = Workload.of(Purpose.EVALUATION, workload)
    check_flag("trajectories", trajectories)
    ready = ready_for(problem, policy, checked)
    chosen = simulation_engine(problem, ready, engine=engine, trajectories=trajectories)
    return simulated(chosen, ready, checked)


def simulated(engine: Engine, policy: Policy, workload: Workload) -> Episodes:
    """What a prepared policy does over a workload, by an engine that was chosen for it."""
    return _summarised(list(engine.blocks(policy, workload)), workload.episodes)


def ready_for(problem: AnyProblem, policy: Policy, workload: Workload) -> Any:
    """The policy made ready for a problem and a workload, which must fit each other."""
    ready = prepared(policy, problem, workload.horizon)
    check_precision(problem, workload.precision)
    workload.conditions.check(problem, workload.horizon)
    return ready


def _summarised(blocks: list[dict[str, Any]], episodes: int) -> Episodes:
    """What blocks say together: of episodes [.., B] one after the other, of sums [T] or [K] their average."""

    def joined(*parts: Any) -> Any:
        return np.concatenate(parts)[:episodes]

    def every_episode(name: str) -> FloatArray:
        return joined(*(np.ravel(block[name]) for block in blocks)).astype(np.float64)  # type: ignore[no-any-return]

    def average(name: str) -> FloatArray:
        sums = [np.atleast_2d(block[name]).sum(axis=0, dtype=np.float64) for block in blocks]
        return np.asarray(np.sum(sums, axis=0) / episodes)

    kept = [block.get("trajectories") for block in blocks]
    regret = every_episode("regret")
    check_finite_results("regret", regret)
    return Episodes(
        regret=regret,
        reward=every_episode("reward"),
        regret_over_time=np.cumsum(average("step_regret")),
        pulls=None if blocks[0]["pulls"] is None else average("pulls"),
        trajectories=None if kept[0] is None else jax.tree.map(joined, *kept),
    )
