"""Simulation: workloads, instances, the transition, rollouts through instances, and engines that run many of them."""

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
from tsgrad.simulation.episodes import Episodes, ready_for, simulate, simulated, simulation_engine
from tsgrad.simulation.instance import Instance, Observed, draw_instance, redraw_instance
from tsgrad.simulation.recorded import Recorded, replay
from tsgrad.simulation.rollout import Episode, Trajectory, from_live_rollout, play, regret, roll_out
from tsgrad.simulation.step import State, decide, start, take_step
from tsgrad.simulation.workload import (
    BLOCK,
    CHUNK,
    MOST_EPISODES,
    MOST_STEPS,
    Conditions,
    Precision,
    Traced,
    Workload,
    WorkloadOptions,
)

__all__ = [
    "BLOCK",
    "CHUNK",
    "MOST_EPISODES",
    "MOST_STEPS",
    "Conditions",
    "Engine",
    "EngineName",
    "EngineReport",
    "Episode",
    "Episodes",
    "Instance",
    "JaxEngine",
    "NativeEngine",
    "Observed",
    "Precision",
    "Recorded",
    "State",
    "Traced",
    "Trajectory",
    "Workload",
    "WorkloadOptions",
    "choose_engine",
    "decide",
    "draw_instance",
    "engines",
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
]
