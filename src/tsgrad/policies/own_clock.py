"""Policies with a clock of their own: how they play when the horizon changes and they don't know it."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tsgrad.arrays import FloatArray
from tsgrad.laws import Law
from tsgrad.policies.base import Clock, Memoryless, Policy, SamplingPolicy
from tsgrad.problems import AnyProblem, Context, Problem


def with_own_clock(policy: SamplingPolicy, horizon: int) -> SamplingPolicy:
    """The policy as it plays for `horizon`, however long the episode is; after that, it decides as at its last step.

    >>> from tsgrad.policies import Thompson
    >>> with_own_clock(Thompson(), 10).horizon
    10
    """
    return ForgetfulOwnClock(policy, horizon) if isinstance(policy, Memoryless) else OwnClock(policy, horizon)


class _GoesByOwnClock(SamplingPolicy):
    """What both kinds share: all is the policy's own but the time."""

    policy: SamplingPolicy
    horizon: int = eqx.field(static=True)

    def prepare(self, problem: AnyProblem, horizon: int) -> Policy:
        ready: Any = self.policy.prepare(problem, self.horizon)
        return with_own_clock(ready, self.horizon)

    def law(self, model: Problem, belief: Any, memory: Any, context: Context, clock: Clock) -> Law:
        own = Clock(jnp.minimum(clock.t, self.horizon), self.horizon)
        if clock.arms_left is not None:
            # Arms that stay until the end stay until that of its own clock.
            until = jnp.minimum(clock.arms_left, own.left)
            own = own._replace(arms_left=jnp.where(clock.arms_left == clock.left, own.left, until))
        return self.policy.law(model, belief, memory, context, own)

    def choose(self, model: Problem, draw: Any, context: Context) -> Any:
        return self.policy.choose(model, draw, context)

    def plays_largest(self, model: Problem) -> bool:
        return self.policy.plays_largest(model)

    def trainable(self) -> Any:
        return False

    def meta_parameters(self) -> dict[str, FloatArray]:
        return self.policy.meta_parameters()


class ForgetfulOwnClock(Memoryless, _GoesByOwnClock):
    """Of policies to which the belief is all that matters of the past."""


class OwnClock(_GoesByOwnClock):
    """Of policies with a memory."""

    def init(self, model: Problem) -> Any:
        return self.policy.init(model)

    def remember(self, memory: Any, context: Context, arm: Any, reward: Float[Array, ""]) -> Any:
        return self.policy.remember(memory, context, arm, reward)
