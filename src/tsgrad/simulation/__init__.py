"""Simulation: workloads, instances, the transition, rollouts through instances, and engines that run many of them."""

from tsgrad.simulation.conditions import EVERY_USER, Conditions, PolicyNoise
from tsgrad.simulation.crowds import (
    ONE_USER,
    Crowd,
    Item,
    Known,
    Listed,
    Player,
    each_user,
)
from tsgrad.simulation.engines import (
    Engine,
    EngineName,
    EngineReport,
    JaxEngine,
    NativeEngine,
    choose_engine,
    engines,
    over_blocks,
)
from tsgrad.simulation.episodes import Episodes, ready_for, simulate, simulated, simulation_engine, why_not_native
from tsgrad.simulation.instance import Instance, Observed, draw_instance, redraw_instance
from tsgrad.simulation.policy_files import check_names, policy_content, write_policy
from tsgrad.simulation.ray_workers import RayWorkers, all_workers
from tsgrad.simulation.recorded import Recorded, replay
from tsgrad.simulation.rollout import Episode, Trajectory, from_live_rollout, play, regret, roll_out
from tsgrad.simulation.step import AT_ONCE, Feedback, State, Taken, crowd_of, feedback_of, start, take_step
from tsgrad.simulation.workers import LOCAL, LocalWorkers, Workers, check_workers
from tsgrad.simulation.workload import (
    BLOCK,
    CHUNK,
    MOST_EPISODES,
    MOST_STEPS,
    Precision,
    Traced,
    Workload,
    WorkloadOptions,
)

__all__ = [
    "AT_ONCE",
    "BLOCK",
    "CHUNK",
    "EVERY_USER",
    "LOCAL",
    "MOST_EPISODES",
    "MOST_STEPS",
    "ONE_USER",
    "Conditions",
    "Crowd",
    "Engine",
    "EngineName",
    "EngineReport",
    "Episode",
    "Episodes",
    "Feedback",
    "Instance",
    "Item",
    "JaxEngine",
    "Known",
    "Listed",
    "LocalWorkers",
    "NativeEngine",
    "Observed",
    "Player",
    "PolicyNoise",
    "Precision",
    "RayWorkers",
    "Recorded",
    "State",
    "Taken",
    "Traced",
    "Trajectory",
    "Workers",
    "Workload",
    "WorkloadOptions",
    "all_workers",
    "check_names",
    "check_workers",
    "choose_engine",
    "crowd_of",
    "draw_instance",
    "each_user",
    "engines",
    "feedback_of",
    "from_live_rollout",
    "over_blocks",
    "play",
    "policy_content",
    "ready_for",
    "redraw_instance",
    "regret",
    "replay",
    "roll_out",
    "simulate",
    "simulated",
    "simulation_engine",
    "start",
    "take_step",
    "why_not_native",
    "write_policy",
]
