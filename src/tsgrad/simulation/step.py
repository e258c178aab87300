"""The transition: one step of an episode, written once. Rollouts, replays, look-aheads and oracles are made of it."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Float

from tsgrad.policies import Clock, Policy, SamplingPolicy, computed_once
from tsgrad.problems import Context, Problem
from tsgrad.streams import Noise


class State(NamedTuple):
    """What goes from step to step: what is believed, and what the policy remembers."""

    belief: Any
    memory: Any


class Taken(NamedTuple):
    """One step: what the choice was made from, what was drawn (None where nothing was), the arm and its reward."""

    belief: Any
    memory: Any
    pseudo_action: Any
    arm: Any
    reward: Float[Array, ""]


class Feedback(eqx.Module):
    """When rewards are seen."""

    @abc.abstractmethod
    def learn(
        self, model: Problem, policy: Policy, state: State, context: Context, arm: Any, reward: Float[Array, ""]
    ) -> State:
        """The state after a step: belief and memory renewed by what has become visible."""


class AtOnce(Feedback):
    """A reward is seen before the next choice."""

    def learn(
        self, model: Problem, policy: Policy, state: State, context: Context, arm: Any, reward: Float[Array, ""]
    ) -> State:
        return State(
            model.update(state.belief, context, arm, reward), policy.remember(state.memory, context, arm, reward)
        )


AT_ONCE = AtOnce()


def start(model: Problem, policy: Policy, horizon: int) -> State:
    """Before the first step."""
    return State(model.prior(horizon), policy.init(model))


def take_step(
    model: Problem,
    policy: Policy,
    state: State,
    context: Context,
    *,
    choose: Callable[[], tuple[Any, Any]],
    pay: Callable[[Any], Float[Array, ""]],
    feedback: Feedback = AT_ONCE,
) -> tuple[State, Taken]:
    """One step: `choose` gives (pseudo-action, arm), `pay` the reward of an arm, `feedback` says what is seen of it."""
    pseudo_action, arm = choose()
    reward = pay(arm)
    later = feedback.learn(model, policy, state, context, arm, reward)
    return later, Taken(state.belief, state.memory, pseudo_action, arm, reward)


def decide(
    policy: Policy, model: Problem, state: State, context: Context, clock: Clock, noise: Noise
) -> tuple[Any, Any]:
    """(pseudo-action, arm): what `policy.act` plays, with the draw behind it where there is one."""
    if isinstance(policy, SamplingPolicy):
        draw = policy.law(model, state.belief, state.memory, context, clock).sample(noise)
        pseudo_action = computed_once(draw, clock)
        return pseudo_action, policy.choose(model, pseudo_action, context)
    return None, policy.act(model, state.belief, state.memory, context, clock, noise)
