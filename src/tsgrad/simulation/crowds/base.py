"""What a crowd is: the users of a step."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
from jaxtyping import Array, Float, Integer

from tsgrad.policies import Policy
from tsgrad.problems import Context
from tsgrad.simulation.conditions import Conditions, Moment, PolicyNoise


class Player(NamedTuple):
    """Who decides: a policy, and the model that it believes in."""

    model: Any
    policy: Policy


class Known(NamedTuple):
    """What a player knows of the past: a belief, and what the policy remembers."""

    belief: Any
    memory: Any


class Item(NamedTuple):
    """What happened at a step, until it is seen."""

    context: Context
    played: Any
    paid: Any


class Crowd(eqx.Module):
    """The users of a step.

    `single` says that a step is one user: what is played is an arm. `counted` says that users are only counted: what is
    played is how many get each arm [K], and nobody is remembered.
    """

    single: ClassVar[bool] = False
    counted: ClassVar[bool] = False

    @abc.abstractmethod
    def contexts(self, of_users: Context, t: Integer[Array, "T"], conditions: Conditions, horizon: int) -> Context:
        """What is seen at each step, from what each user is like. Axes: [users] to [T] first."""

    @abc.abstractmethod
    def decide(
        self, player: Player, known: Known, context: Context, moment: Moment, noise: PolicyNoise
    ) -> tuple[Any, Any]:
        """(draw, what is played)."""

    @abc.abstractmethod
    def pay(self, instance: Any, t: Integer[Array, ""], context: Context, played: Any, plays: Any) -> Any:
        """What it pays, and when that is seen; `plays` is how often each arm was played before, where that matters."""

    @abc.abstractmethod
    def recorded(self, paid: Any) -> Any:
        """What is kept of it."""

    @abc.abstractmethod
    def total(self, recorded: Any) -> Float[Array, ""]:
        """What all users of a step earned."""

    @abc.abstractmethod
    def whenever_seen(self, paid: Any) -> Any:
        """What is paid as if all of it were seen at once: an oracle may know it."""

    @abc.abstractmethod
    def log_prob(
        self,
        of_user: Callable[[Context, Any, Any], Any],
        shares: Callable[[], Float[Array, "K"]],
        context: Context,
        drawn: Any,
        played: Any,
    ) -> Float[Array, ""]:
        """The log-probability of what was drawn and played: from that of a user's (context, draw, arm), or from the
        `shares` of the arms.
        """

    def evidence(self, model: Any, paid: Any) -> Any:
        """Returns what a payment adds to a belief, where users are only counted."""
        raise TypeError(f"{type(self).__name__} shows rewards one by one")

    @abc.abstractmethod
    def renew(self, player: Player, known: Known, item: Item, seen: Any) -> Known:
        """What is known after what was paid, or that part of it which is seen; `seen` is None for all of it."""

    @abc.abstractmethod
    def all_play(self, arm_of: Callable[[Context], Any], context: Context, size: Any, arms: int) -> Any:
        """What is played where every user gets the arm that their context calls for."""

    @abc.abstractmethod
    def summed(self, value_of: Callable[[Context, Any], Any], context: Context, played: Any) -> Float[Array, ""]:
        """The sum over users of what (context, arm) is worth."""

    @abc.abstractmethod
    def counts(self, played: Any, arms: int) -> Float[Array, "K"]:
        """How many users each arm has."""
