"""What an experiment shows as it goes on: traffic and rewards by arm, and whether the model still fits them."""

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from tsgrad_runtime.agent import Agent
from tsgrad_runtime.events import Event

LEAST_REWARDS = 30
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

    def alarm(self, agent: Agent) -> str | None:
        """A sentence where rewards of an arm are not what the model expects of them; None where all is well.

        Under the model each arm's surprises are a martingale whose steps have variance one, so that their sum over the
        root of their number is nearly standard normal; it grows where rewards drift. What an arm's mean has moved by
        since the start has the variance that its prior had more than its posterior; it is far where the prior is wrong.
        """
        counted = {name: tally for name, tally in self.arms.items() if tally.rewards >= LEAST_REWARDS}
        if not counted:
            return None
        bound = NormalDist().inv_cdf(1 - LEVEL / 4 / len(counted))  # two sides, two tests
        moved = _moved(agent)
        for name, tally in counted.items():
            since_start, on_the_way = moved.get(name, 0.0), tally.surprise / tally.rewards**0.5
            if abs(since_start) > bound:
                side = "better" if since_start > 0 else "worse"
                return (
                    f"{name} is {side} than its prior allows, by {abs(since_start):.1f} standard errors: is it wrong?"
                )
            if abs(on_the_way) > bound:
                side = "higher" if on_the_way > 0 else "lower"
                return f"Rewards of {name} are {side} than expected, by {abs(on_the_way):.1f} standard errors: a drift?"
        return None


def _moved(agent: Agent) -> dict[str, float]:
    """By how much each arm's expected reward has moved since the start, in its standard deviations."""
    model = agent.model
    if model.contexts or model.arms is None:
        return {}
    features = agent.scene().features
    (before, wide), (now, narrow) = (model.moments(belief, features) for belief in (model.prior(), agent.belief))
    spread = np.sqrt(np.maximum(wide**2 - narrow**2, 1e-300))
    known = narrow < 0.9 * wide  # before that, there is next to nothing to divide by
    return dict(zip(agent.arms, np.where(known, (now - before) / spread, 0.0).tolist(), strict=True))


def _surprise(agent: Agent, event: Event) -> float:
    """(reward - expected) / its predictive standard deviation."""
    model: Any = agent.model
    features = getattr(model, "features", None) if event.features is None else np.asarray(event.features)
    if features is not None and features.ndim == 3:
        features = features[min(agent.steps, len(features) - 1)]
    arm = agent.index[event.arm]
    mean, std = (values[arm] for values in model.moments(agent.belief, features))
    predictive = std * (1 + model.strength(agent.belief, features)[arm]) ** 0.5
    assert event.reward is not None
    return float((event.reward - mean) / max(predictive, 1e-300))
