"""The transition: one step of an episode, written once. Rollouts, replays, look-aheads and oracles are made of it.

The crowd says who comes and what they play and earn, the feedback what is seen of it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from tsgrad.policies import Policy
from tsgrad.problems import Context, Problem
from tsgrad.simulation.crowd import ONE_USER, Crowd
from tsgrad.simulation.feedback import AT_ONCE, Feedback, Item, State


class Taken(NamedTuple):
    """One step: what the choice was made from, what was drawn (None where nothing was), what was played and paid.

    For single users that is an arm and its reward; see `tsgrad.simulation.crowd` for others.
    """

    belief: Any
    memory: Any
    pseudo_action: Any
    arm: Any
    reward: Any


def start(model: Problem, policy: Policy, users: int) -> State:
    """Before the first step."""
    return State(model.prior(users), policy.init(model))


def take_step(
    model: Problem,
    policy: Policy,
    state: State,
    context: Context,
    *,
    choose: Callable[[], tuple[Any, Any]],
    pay: Callable[[Any], Any],
    crowd: Crowd = ONE_USER,
    feedback: Feedback = AT_ONCE,
) -> tuple[State, Taken]:
    """One step: `choose` gives (draw, what is played), `pay` what that pays, `feedback` says what is seen of it."""
    pseudo_action, played = choose()
    paid = pay(played)
    later = feedback.learn(crowd, model, policy, state, Item(context, played, paid))
    return later, Taken(state.belief, state.memory, pseudo_action, played, crowd.recorded(paid))
