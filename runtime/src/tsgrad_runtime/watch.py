"""What an experiment shows as it goes on: traffic and rewards by arm, and whether the model still fits them."""

import math
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from tsgrad_runtime.agent import Agent
from tsgrad_runtime.doubts import Doubt, Doubts, doubts_of
from tsgrad_runtime.events import Event
from tsgrad_runtime.models import Belief, IndependentArms

LEAST_REWARDS = 30  # of all arms, before anything is said
LEVEL = 1e-4  # of the alarm: the chance that it is ever raised falsely, over all arms
MOST_FOLLOWED = 10_000  # decisions that are waited for at once, where rewards may be none at all


class Tally(NamedTuple):
    """Decisions that were shown, rewards (defaults among them), and their sum: of one arm, or of all."""

    shown: int = 0
    rewards: int = 0
    total: float = 0.0


class Watch:
    """Tallies of all arms, by name, from the events of an experiment; `all` is that of all of them, and the only one
    where every vector is an arm.

    It believes by every reward before the next. The agent's belief, which may stand still for a whole batch, would lend
    one error to all that is foretold within the batch.

    Where a default counts after a wait, rewards come in an order that tells what they are: clicks at once, their
    absence an hour later. There it doubts by decisions in the order in which they were shown, each once all before it
    are settled; of what comes faster than it can wait for, by some, whatever they pay.
    """

    def __init__(self) -> None:
        self.arms: dict[str, Tally] = {}
        self.all = Tally()
        self.defaults = 0
        self._doubts: Doubts | None = None
        self._belief: Belief | None = None  # where it isn't the agent's own
        self._followed: OrderedDict[str, Event | None] = OrderedDict()  # as shown, with what settled them

    def see(self, agent: Agent, event: Event) -> None:
        """One more event, before the agent's state knows it."""
        shown, rewards, total = 0, 0, 0.0
        match event.kind:
            case "decision" | "activation" if event.shown:
                shown = 1
                if agent.wait is not None and len(self._followed) < MOST_FOLLOWED:
                    self._followed[event.decision or ""] = None
            case "reward" | "default":
                self.defaults += event.kind == "default"
                assert event.reward is not None
                rewards, total = 1, event.reward
                self._settle(agent, event)
            case _:
                return
        self.all = _added(self.all, shown, rewards, total)
        if isinstance(event.arm, str):
            self.arms[event.arm] = _added(self.arms.get(event.arm, Tally()), shown, rewards, total)

    def believed(self, agent: Agent) -> Belief:
        """What all rewards so far make of the prior, of as many arms as there are now."""
        if _in_step(agent):
            return agent.belief
        prior = agent.model.prior()
        if self._belief is not None and isinstance(agent.model, IndependentArms):
            (known,) = self._belief
            prior[0][:, : known.shape[1]] = known  # nothing was seen of arms that were added since
            return prior
        return prior if self._belief is None else self._belief

    def _settle(self, agent: Agent, event: Event) -> None:
        """Learns a reward, or all that have waited for it."""
        if agent.wait is None:
            return self._learn(agent, event.arm, event.features, event.reward)
        if (decision := event.decision or "") in self._followed:
            self._followed[decision] = event
        while self._followed and (first := next(iter(self._followed.values()))) is not None:
            self._followed.popitem(last=False)
            self._learn(agent, first.arm, first.features, first.reward)
        return None

    def _learn(self, agent: Agent, played: Any, seen: Any, reward: Any) -> None:
        """Doubts by a reward, which is believed by from now on."""
        model, belief = agent.model, self.believed(agent)
        arm = agent.roster.number(played) if isinstance(played, str) else np.asarray(played, np.float64)
        features = agent.learned_with(None if seen is None else np.asarray(seen, np.float64))
        if self._doubts is None:
            self._doubts = doubts_of(model)
        self._doubts.see(model, belief, features, arm, reward)
        if not _in_step(agent):
            self._belief = model.update(belief, features, arm, reward)

    def alarm(self, agent: Agent) -> str | None:
        """A sentence where rewards are not what the model expects of them; None where all is well.

        If the model is right, it is ever raised in an experiment with a chance of LEVEL at most, however often it is
        asked for: see `doubts`.
        """
        if self._doubts is None or self.all.rewards < LEAST_REWARDS:
            return None
        features = None if agent.model.contexts else agent.model.features_for(agent.steps + 1)
        doubt = self._doubts.strongest(agent.model, self.believed(agent), features)
        return None if doubt is None or doubt.log_chance > math.log(LEVEL) else _said(doubt, agent.arms)


def _in_step(agent: Agent) -> bool:
    """Whether the agent believes by the same rewards as the watch, at every moment."""
    return agent.at_once and agent.wait is None


def _added(tally: Tally, shown: int, rewards: int, total: float) -> Tally:
    return Tally(tally.shown + shown, tally.rewards + rewards, tally.total + total)


def _said(doubt: Doubt, arms: list[str]) -> str:
    who = "all arms" if doubt.arm is None else arms[doubt.arm]
    side = "higher" if doubt.higher else "lower"
    said = {
        "arm": f"{who} is {'better' if doubt.higher else 'worse'} than its prior allows: is it wrong?",
        "prior": "Rewards are not what the prior allows: a weaker one foretells them far better. Is it wrong?",
        "drift": f"Rewards of {who} are {'other' if doubt.higher is None else side} than they were: a drift?",
        "bias": f"Rewards of {who} are {side} than expected: a drift?",
    }[doubt.kind]
    return f"{said} Where the model is right, this is said at most once in {_rounded(-doubt.log_chance)} experiments."


def _rounded(log_number: float) -> str:
    """A large number, whose logarithm is given."""
    digits = log_number / math.log(10)
    return f"{10**digits:,.0f}" if digits < 7 else f"10^{digits:.0f}"
