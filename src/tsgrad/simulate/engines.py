"""Engines: what simulates. One meaning, one randomness; they differ in speed and in what they cover."""

from typing import Literal, NamedTuple

import jax

from tsgrad.checks import check_choice

Engine = Literal["auto", "jax"]


class EngineReport(NamedTuple):
    """Whether an engine can be used here, and what there is to say about it."""

    name: str
    available: bool
    detail: str


def choose_engine(engine: str) -> str:
    """The engine that will run: "auto" takes the fastest that has what is asked for.

    >>> choose_engine("auto")
    'jax'
    """
    check_choice("engine", engine, ("auto", "jax"))
    return "jax"


def engines() -> list[EngineReport]:
    """Every engine, and whether it can be used on this machine."""
    devices = ", ".join(f"{device.platform}:{device.id}" for device in jax.local_devices())
    return [EngineReport("jax", True, f"every problem, policy and estimator; on {devices}; JAX {jax.__version__}")]
