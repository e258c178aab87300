"""tsgrad-runtime plays the policies that tsgrad tunes, with NumPy alone.

    agent = Agent.load("policy.json")
    decision = agent.decide()
    agent.reward(decision.id, 1.0)

Each name is loaded when it is first used: programs that need a check or an error don't pay for the agent, and only a
ledger needs what `pip install 'tsgrad-runtime[ledger]'` brings.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tsgrad_runtime.agent import Agent
    from tsgrad_runtime.artefact import Artefact, read_artefact
    from tsgrad_runtime.checks import BadInput
    from tsgrad_runtime.decision import Decision
    from tsgrad_runtime.ledger import Ledger

__all__ = ["Agent", "Artefact", "BadInput", "Decision", "Ledger", "read_artefact"]

_MODULES = {
    "Agent": "agent",
    "Artefact": "artefact",
    "BadInput": "checks",
    "Decision": "decision",
    "Ledger": "ledger",
    "read_artefact": "artefact",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
