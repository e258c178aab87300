"""Simulation: workloads, instances, the transition, rollouts through instances, and engines that run many of them."""

from tsgrad.simulation.conditions import EVERY_USER, Conditions
from tsgrad.simulation.crowd import ONE_USER, Counted, Crowd, Floored, Listed, OneUser, PolicyNoise, Users, crowd_of
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
from tsgrad.simulation.feedback import AT_ONCE, Feedback, Item, State, feedback_of
from tsgrad.simulation.instance import Instance, Observed, draw_instance, redraw_instance
from tsgrad.simulation.recorded import Recorded, replay
from tsgrad.simulation.rollout import Episode, Trajectory, from_live_rollout, play, regret, roll_out
from tsgrad.simulation.step import Taken, start, take_step
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
    "MOST_EPISODES",
    "MOST_STEPS",
    "ONE_USER",
    "Conditions",
    "Counted",
    "Crowd",
    "Engine",
    "EngineName",
    "EngineReport",
    "Episode",
    "Episodes",
    "Feedback",
    "Floored",
    "Instance",
    "Item",
    "JaxEngine",
    "Listed",
    "NativeEngine",
    "Observed",
    "OneUser",
    "PolicyNoise",
    "Precision",
    "Recorded",
    "State",
    "Taken",
    "Traced",
    "Trajectory",
    "Users",
    "Workload",
    "WorkloadOptions",
    "choose_engine",
    "crowd_of",
    "draw_instance",
    "engines",
    "feedback_of",
    "from_live_rollout",
    "over_blocks",
    "play",
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
]
