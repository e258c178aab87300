"""tsgrad-runtime plays the policies that tsgrad tunes, with NumPy alone.

agent = Agent.load("policy.json")
decision = agent.decide()
agent.reward(decision.id, 1.0)
"""

from tsgrad_runtime.agent import Agent
from tsgrad_runtime.artefact import Artefact, read_artefact
from tsgrad_runtime.checks import BadInput
from tsgrad_runtime.decision import Decision

__all__ = ["Agent", "Artefact", "BadInput", "Decision", "read_artefact"]
