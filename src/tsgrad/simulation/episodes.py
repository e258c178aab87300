"""Many episodes of one policy."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt32

from tsgrad import native
from tsgrad.arrays import FloatArray
from tsgrad.checks import check_finite_results, check_flag, check_type
from tsgrad.policies import Experiment, Planner, Policy, prepared
from tsgrad.problems import AnyProblem, FiniteArms, check_precision
from tsgrad.simulation.conditions import EVERY_USER, Conditions
from tsgrad.simulation.engines import Engine, EngineName, JaxEngine, NativeEngine, choose_engine
from tsgrad.simulation.instance import LATER_CONTEXTS, draw_instance
from tsgrad.simulation.rollout import Trajectory, regret, roll_out
from tsgrad.simulation.step import crowd_of
from tsgrad.simulation.workers import LOCAL, Workers, check_workers
from tsgrad.simulation.workload import BLOCK, Traced, Workload, WorkloadOptions
from tsgrad.streams import Purpose

_TRIAL_EPISODES = 4 * BLOCK
_TRIAL_ITERATION = 2**32 - 1  # no training gets there: policies that plan have episodes of their own


class Episodes(NamedTuple):
    """What a policy did over N episodes. Rewards and regrets are those of all users, also of those who come after the
    end (`Conditions.after`), whose rewards are expected ones.

    Attributes:
        regret: of each episode [N].
        reward: of each episode [N].
        regret_over_time: the regret up to each step [T], averaged over episodes.
        pulls: of each arm [K], averaged over episodes; None where there are infinitely many arms.
        trajectories: every step of every episode, if asked for; its fields have [N, T] first.
        regret_after: the regret of the final choice, averaged; part of `regret`, not of `regret_over_time`.
        traffic: the users of each arm at each step [T, K], averaged; from the JAX engine only.

    """

    regret: FloatArray  # [N]
    reward: FloatArray  # [N]
    regret_over_time: FloatArray  # [T], the regret up to each step, averaged over episodes
    pulls: FloatArray | None  # [K], averaged over episodes; None for infinite sets of arms
    trajectories: Trajectory | None
    regret_after: float = 0.0  # that of the final choice, averaged; part of `regret`, not of `regret_over_time`
    traffic: FloatArray | None = None  # [T, K], the users of each arm at each step, averaged; from the JAX engine


@eqx.filter_jit
def _simulate_block(
    problem: AnyProblem, policy: Policy, workload: Traced, block: UInt32[Array, ""], trajectories: bool
) -> dict[str, Any]:
    def episode(number: UInt32[Array, ""]) -> tuple[Any, Any, Any, Trajectory]:
        home = workload.address.with_episode(number)
        instance = draw_instance(problem, home, workload.horizon, workload.conditions, crowd)
        played = roll_out(problem.model, policy, instance, home, jnp.uint32(0))
        regrets = regret(instance, problem.model, played)
        # From a belief that is no number an arm would follow all the same: the first one.
        known = jnp.array([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(played.final_belief)]).all()
        worth = instance.final_choice(problem.model, played.final_belief)[0]
        return jnp.where(known, regrets.of_steps, jnp.nan), regrets.after, worth, played

    episodes = workload.episodes(block)
    real = workload.is_real(episodes)
    crowd = crowd_of(workload.conditions, problem, policy)
    regrets, after, worth, played = jax.vmap(episode)(episodes)
    summary: dict[str, Any] = {
        "regret": jnp.sum(regrets, axis=1),
        "reward": jnp.sum(jax.vmap(jax.vmap(crowd.total))(played.reward), axis=1),
        "step_regret": jnp.sum(jnp.where(real[:, None], regrets, 0), axis=0),
        "pulls": None,
        "trajectories": played if trajectories else None,
    }
    if workload.conditions.after is not None:
        summary["after"] = after
        summary["regret"] += after
        summary["reward"] += worth
    if isinstance(problem.truth, FiniteArms):
        arms = problem.truth.arms
        counts = jax.vmap(jax.vmap(lambda played: crowd.counts(played, arms)))(played.arm)
        summary["traffic"] = jnp.sum(jnp.where(real[:, None, None], counts, 0), axis=0)
        summary["pulls"] = jnp.sum(summary["traffic"], axis=0)
    return summary


def simulation_engine(
    problem: AnyProblem,
    policy: Policy,
    *,
    engine: EngineName = "auto",
    trajectories: bool = False,
    conditions: Conditions = EVERY_USER,
    workers: Workers = LOCAL,
) -> Engine:
    """The engine that simulates a prepared policy under conditions; it is asked for blocks of any such workload."""
    not_native = why_not_native(conditions)
    if not_native is not None:
        pass
    elif native.kernel_for(problem, policy) is None:
        not_native = f"it has no kernel for {type(policy).__name__} on {type(problem).__name__}"
    elif trajectories:
        not_native = "its trajectories hold no beliefs and pseudo-actions"

    def on_native(policy: Policy, workload: Workload) -> Iterator[dict[str, Any]]:
        kernel = native.kernel_for(problem, policy)
        assert kernel is not None
        for blocks in native.simulation_blocks(kernel, **workload.for_kernels):
            for row in range(len(blocks["regret"])):
                yield {name: values[row] for name, values in blocks.items()}

    chosen = choose_engine(
        engine,
        not_native=not_native,
        jax=JaxEngine(lambda policy, traced, block: _simulate_block(problem, policy, traced, block, trajectories)),
        native_engine=NativeEngine(on_native),
    )
    again = partial(simulation_engine, problem, policy, trajectories=trajectories, conditions=conditions)
    return workers.spread(chosen, partial(again, engine=chosen.name))


def simulate(
    problem: AnyProblem,
    policy: Policy,
    *,
    trajectories: bool = False,
    engine: EngineName = "auto",
    workers: Workers = LOCAL,
    **workload: Unpack[WorkloadOptions],
) -> Episodes:
    """Plays a policy on a problem. The same seed gives the same episodes to every policy.

    Args:
        problem: what is played.
        policy: what plays it.
        trajectories: whether to keep every step of every episode.
        engine: "jax", "native", or "auto" for the fastest that can run.
        workers: who computes: this process, or `tsgrad.RayWorkers`; the result is the same.
        workload: which episodes: `horizon`, `episodes`, `seed`, and the other fields of `Workload`.

    Returns:
        Regret and reward of each episode, regret over time, and pulls of each arm.

    Raises:
        BadInput: if the policy can't play the problem, or the engine can't run it.

    >>> from tsgrad.problems import GaussianBandit
    >>> from tsgrad.policies import Thompson
    >>> result = simulate(GaussianBandit(arms=3), Thompson(), horizon=20, episodes=500, seed=0)
    >>> print(f"{result.regret.mean():.1f}, {result.pulls.sum():.0f} pulls")
    6.2, 20 pulls

    """
    checked = Workload.of(Purpose.EVALUATION, workload)
    check_flag("trajectories", trajectories)
    check_workers(workers)
    ready = ready_for(problem, policy, checked)
    chosen = simulation_engine(
        problem, ready, engine=engine, trajectories=trajectories, conditions=checked.conditions, workers=workers
    )
    return simulated(chosen, ready, checked)


def simulated(engine: Engine, policy: Policy, workload: Workload) -> Episodes:
    """What a prepared policy does over a workload, by an engine that was chosen for it."""
    return _summarised(list(engine.blocks(policy, workload)), workload.episodes)


def ready_for(problem: AnyProblem, policy: Policy, workload: Workload) -> Any:
    """The policy made ready for a problem and a workload, which must fit each other."""
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    check_type("policy", policy, Policy, remedy="such as tsgrad.Thompson()")
    conditions = workload.conditions
    conditions.check(problem, workload.horizon)
    check_precision(problem, workload.precision)
    if conditions.after is not None:
        problem.truth.prior(workload.users + LATER_CONTEXTS)  # there must be contexts for users who come later
    if isinstance(policy, Planner):
        policy = policy.plan(problem, _experiment(problem, workload))
    ready = prepared(policy, problem, workload.users)
    crowd_of(conditions, problem, ready)
    return ready


def _experiment(problem: AnyProblem, workload: Workload) -> Experiment:
    """What a policy that plans may know: sizes, and how others do on training episodes."""
    conditions = workload.conditions
    trial = workload.part(
        episodes=_TRIAL_EPISODES, purpose=Purpose.TRAINING, first_episode=0, iteration=_TRIAL_ITERATION
    )

    def reward_of(policy: Policy) -> float:
        ready = ready_for(problem, policy, trial)
        engine = simulation_engine(problem, ready, conditions=conditions)
        return -float(np.mean(simulated(engine, ready, trial).regret))

    after = 0 if conditions.after is None else int(conditions.after)
    return Experiment(conditions.sizes(workload.horizon), after, reward_of)


def why_not_native(conditions: Conditions) -> str | None:
    """Why the native engine can't run under conditions; None where it can."""
    if conditions.masks_alone:
        return None
    return "of conditions it knows 'available' alone: no batch, delay, floor or after"


def _summarised(blocks: list[dict[str, Any]], episodes: int) -> Episodes:
    """What blocks say together: of episodes [B] one after the other, of sums [T] or [K] their average."""

    def joined(*parts: Any) -> Any:
        return np.concatenate(parts)[:episodes]

    def every_episode(name: str) -> FloatArray:
        return joined(*(block[name] for block in blocks)).astype(np.float64)  # type: ignore[no-any-return]

    def average(name: str) -> FloatArray:
        return np.asarray(np.sum([block[name] for block in blocks], axis=0, dtype=np.float64) / episodes)

    kept = [block.get("trajectories") for block in blocks]
    regret = every_episode("regret")
    check_finite_results("regret", regret)
    return Episodes(
        regret=regret,
        reward=every_episode("reward"),
        regret_over_time=np.cumsum(average("step_regret")),
        pulls=None if blocks[0]["pulls"] is None else average("pulls"),
        trajectories=None if kept[0] is None else jax.tree.map(joined, *kept),
        regret_after=float(np.mean(every_episode("after"))) if "after" in blocks[0] else 0.0,
        traffic=_traffic(blocks, episodes),
    )


def _traffic(blocks: list[dict[str, Any]], episodes: int) -> FloatArray | None:
    if blocks[0].get("traffic") is None:
        return None
    return np.asarray(np.sum([np.asarray(block["traffic"], np.float64) for block in blocks], axis=0) / episodes)
