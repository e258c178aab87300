"""What an experiment shows as it goes on: traffic and rewards by arm, and whether the model still fits them."""

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from tsgrad_runtime.agent import Agent
from tsgrad_runtime.events import Event
from tsgrad_runtime.models import Belief, IndependentArms, Model

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
    """Tallies of all arms, by name, from the events of an experiment.

    It believes by every reward before the next. The agent's belief, which may stand still for a whole batch, would lend
    one error to all surprises of the batch: their sum would be far from zero although the model is right.
    """

    def __init__(self) -> None:
        self.arms: dict[str, ArmTally] = {}
        self.defaults = 0
        self._belief: Belief | None = None  # where the agent's own isn't renewed at once

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
                surprise = self._learned(agent, agent.index[event.arm], event.features, event.reward)
                tally = ArmTally(tally.shown, tally.rewards + 1, tally.total + event.reward, tally.surprise + surprise)
        self.arms[event.arm] = tally

    def believed(self, agent: Agent) -> Belief:
        """What all rewards so far make of the prior, of as many arms as there are now."""
        if agent.at_once:
            return agent.belief
        prior = agent.model.prior()
        if self._belief is not None and isinstance(agent.model, IndependentArms):
            (known,) = self._belief
            prior[0][:, : known.shape[1]] = known  # nothing was seen of arms that were added since
            return prior
        return prior if self._belief is None else self._belief

    def _learned(self, agent: Agent, arm: int, seen: Any, reward: float) -> float:
        """The surprise of a reward, which is believed by from now on."""
        model, belief = agent.model, self.believed(agent)
        features = agent.learned_with(None if seen is None else np.asarray(seen, np.float64))
        if not agent.at_once:
            self._belief = model.update(belief, features, arm, reward)
        return _surprise(model, belief, features, arm, reward)

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
        moved = _moved(agent, self.believed(agent))
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


def _moved(agent: Agent, believed: Belief) -> dict[str, float]:
    """By how much each arm's expected reward has moved since the start, in its standard deviations."""
    model = agent.model
    if model.contexts or model.arms is None:
        return {}
    features = agent.present_features()
    (before, wide), (now, narrow) = (model.moments(belief, features) for belief in (model.prior(), believed))
    spread = np.sqrt(np.maximum(wide**2 - narrow**2, 1e-300))
    known = narrow < 0.9 * wide  # before that, there is next to nothing to divide by
    return dict(zip(agent.arms, np.where(known, (now - before) / spread, 0.0).tolist(), strict=True))


def _surprise(model: Model, belief: Belief, features: Any, arm: int, reward: float) -> float:
    """(reward - expected) / its predictive standard deviation."""
    mean, std = (values[arm] for values in model.moments(belief, features))
    predictive = std * (1 + model.strength(belief, features)[arm]) ** 0.5
    return float((reward - mean) / max(predictive, 1e-300))
