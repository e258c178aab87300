"""Simulation: workloads, instances, the transition, rollouts through instances, and engines that run many of them."""

from tsgrad.simulation.conditions import Conditions
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
from tsgrad.simulation.episodes import Episodes, native_arguments, ready_for, simulate, simulation_engine, summarised
from tsgrad.simulation.instance import Instance, Observed, draw_instance, redraw_instance
from tsgrad.simulation.recorded import Recorded, replay
from tsgrad.simulation.rollout import Trajectory, regret, roll_out
from tsgrad.simulation.step import State, decide, start, take_step
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
    "BLOCK",
    "CHUNK",
    "MOST_EPISODES",
    "MOST_STEPS",
    "Conditions",
    "Engine",
    "EngineName",
    "EngineReport",
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
    "native_arguments",
    "over_blocks",
    "ready_for",
    "redraw_instance",
    "regret",
    "replay",
    "roll_out",
    "simulate",
    "simulation_engine",
    "start",
    "summarised",
    "take_step",
]
