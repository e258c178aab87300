"""The JAX engine: instances, runs through them, and many of both."""

from tsgrad.simulation.blocks import (
    BLOCK,
    Precision,
    block_episodes,
    check_blocks,
    in_precision,
    is_real,
    over_blocks,
)
from tsgrad.simulation.engines import Engine, EngineReport, choose_engine, engines
from tsgrad.simulation.instance import Instance, Observed, draw_instance, redraw_instance
from tsgrad.simulation.replay import Recorded, replay
from tsgrad.simulation.rollout import Trajectory, decide, regret, rollout
from tsgrad.simulation.simulation import CHUNK, Episodes, simulate

__all__ = [
    "BLOCK",
    "CHUNK",
    "Engine",
    "EngineReport",
    "Episodes",
    "Instance",
    "Observed",
    "Precision",
    "Recorded",
    "Trajectory",
    "block_episodes",
    "check_blocks",
    "choose_engine",
    "decide",
    "draw_instance",
    "engines",
    "in_precision",
    "is_real",
    "over_blocks",
    "redraw_instance",
    "regret",
    "replay",
    "rollout",
    "simulate",
]
