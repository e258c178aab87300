"""What an experiment shows as it goes on: traffic and rewards by arm, and whether the model still fits them."""

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from tsgrad_runtime.agent import Agent
from tsgrad_runtime.events import Event

LEVEL = 1e-4  # of the alarm: how often it is raised falsely at any one moment, over all arms


class ArmTally(NamedTuple):
    """Of one arm: decisions that were shown, rewards (defaults among them), their sum, and how far they were from what
    was expected of each before it came, in its standard deviations, added up.
    """

    shown: int = 0
    rewards: int = 0
    total: float = 0.0
    surprise: float = 0.0


class Watch:
    """Tallies of all arms, by name, from the events of an experiment."""

    def __init__(self) -> None:
        self.arms: dict[str, ArmTally] = {}
        self.defaults = 0

    def see(self, agent: Agent, event: Event) -> None:
        """One more event, before the agent's state knows it."""
        if not isinstance(event.arm, str):
            return
        tally = self.arms.get(event.arm, ArmTally())
        match event.kind:
            case "decision" | "activation" if event.shown:
                tally = tally._replace(shown=tally.shown + 1)
            case "reward" | "default":
                self.defaults += event.kind == "default"
                assert event.reward is not None
                tally = ArmTally(
                    tally.shown,
                    tally.rewards + 1,
                    tally.total + event.reward,
                    tally.surprise + _surprise(agent, event),
                )
        self.arms[event.arm] = tally

    def alarm(self) -> str | None:
        """A sentence where rewards of an arm are not what the model expects of them; None where all is well.

        Under the model each arm's surprises are a martingale whose steps have variance one, so that their sum over the
        root of their number is nearly standard normal.
        """
        counted = {name: tally for name, tally in self.arms.items() if tally.rewards >= 30}
        if not counted:
            return None
        bound = NormalDist().inv_cdf(1 - LEVEL / 2 / len(counted))
        name, tally = max(counted.items(), key=lambda item: abs(item[1].surprise) / item[1].rewards ** 0.5)
        distance = tally.surprise / tally.rewards**0.5
        if abs(distance) <= bound:
            return None
        side = "higher" if distance > 0 else "lower"
        return (
            f"Rewards of {name} are {side} than the model expects, by {abs(distance):.1f} standard errors: its prior or"
            " its noise is wrong, or rewards drift."
        )


def _surprise(agent: Agent, event: Event) -> float:
    """(reward - expected) / its predictive standard deviation."""
    model: Any = agent.model
    features = getattr(model, "features", None) if event.features is None else np.asarray(event.features)
    if features is not None and features.ndim == 3:
        features = features[min(agent.steps, len(features) - 1)]
    arm = agent.arms.index(event.arm)
    mean, std = (values[arm] for values in model.moments(agent.belief, features))
    predictive = std * np.sqrt(1 + model.strength(agent.belief, features)[arm])
    assert event.reward is not None
    return float((event.reward - mean) / max(predictive, 1e-300))
