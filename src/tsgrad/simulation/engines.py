"""Engines: what simulates. One meaning, one randomness; they differ in speed and in what they cover."""

from typing import Literal, NamedTuple

import jax

from tsgrad import native
from tsgrad.checks import BadInput, check_choice

Engine = Literal["auto", "jax", "native"]


class EngineReport(NamedTuple):
    """Whether an engine can be used here, and what there is to say about it."""

    name: str
    available: bool
    detail: str


def choose_engine(engine: str, not_native: str | None) -> str:
    """The engine that will run; `not_native` says why the native one has no kernel for what is asked, if so.

    >>> choose_engine("auto", "it has no kernel for this policy")
    'jax'
    """
    check_choice("engine", engine, ("auto", "jax", "native"))
    reason = native.why_unavailable() or not_native
    if engine == "native" and reason is not None:
        raise BadInput(f"engine 'native' can't run this: {reason}; use engine='auto'")
    return "jax" if engine == "jax" or reason is not None else "native"


def engines() -> list[EngineReport]:
    """Every engine, and whether it can be used on this machine."""
    devices = ", ".join(f"{device.platform}:{device.id}" for device in jax.local_devices())
    missing = native.why_unavailable()
    covers = (
        "Gaussian and Bernoulli arms; plain and reshaped Thompson sampling, index policies;"
        " obs, mean, fin, bayes x null, oracle, self"
    )
    best = "" if missing else f"; {native.compiled().instruction_sets()[0]} instructions"
    return [
        EngineReport("native", missing is None, missing or covers + best),
        EngineReport("jax", True, f"every problem, policy and estimator; on {devices}; JAX {jax.__version__}"),
    ]
