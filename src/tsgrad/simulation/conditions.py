"""Conditions: how an experiment is run. How many users see the same belief, when their rewards are seen, which arms
there are and the least share of each, and what follows once the experiment has ended.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Integer

from tsgrad.arrays import Leaf
from tsgrad.checks import BadInput, check_choice, check_count
from tsgrad.policies import Clock
from tsgrad.problems import AnyProblem, Context, FiniteArms
from tsgrad.registry import from_data, register, to_data
from tsgrad.simulation.condition_checks import (
    MOST_USERS,
    checked_available,
    checked_batch,
    checked_delay,
    checked_floor,
)
from tsgrad.simulation.condition_words import words_of
from tsgrad.streams import Noise, Stream

Allocation = Literal["independent", "proportional"]


@register("conditions")
class Conditions(eqx.Module):
    """How an experiment is run. Without conditions, the policy learns from every user before the next one comes.

    Args:
        batch: how many users are decided for from the same belief at each step: one number, or one per step.
        allocation: "independent": one draw per user. "proportional": each arm gets its share of the users, rounded, so
            that every user still has the same probabilities.
        delay: how many steps later a reward is seen (0: before the next step): one number, or the probabilities of 0,
            1, 2, ... steps; where they add up to less than one, the rest is the probability that it is never seen.
        floor: the smallest share of every arm that can be played.
        available: which arms can be played: booleans [T, K], or the first and the last step of each arm [K, 2],
            counted from one.
        after: how many users get the arm with the largest posterior mean once the experiment has ended.

    Raises:
        BadInput: if a value can't be used. Whether they suit a problem is checked when it is played.

    Time is counted in users: at the first step of batches of 50 a policy sees t = 1, at the second t = 51.

        >>> week = Conditions(batch=20_000, delay=1, floor=0.02)
        >>> print(week.words(horizon=7))
        7 steps of 20,000 users; rewards are seen 1 step late; every arm gets at least 2% of the users
        >>> Conditions(available=[[True, False], [False, False]])
        Traceback (most recent call last):
        tsgrad_runtime.checks.BadInput: available[1] must have an arm that can be played, got none

    """

    batch: int | tuple[int, ...] = eqx.field(static=True)
    allocation: Allocation = eqx.field(static=True)
    delay: int | Leaf = eqx.field()
    floor: Leaf | None
    available: Leaf | None
    after: Leaf | None

    def __init__(
        self,
        *,
        batch: Any = 1,
        allocation: Allocation = "independent",
        delay: Any = 0,
        floor: Any = 0.0,
        available: Any = None,
        after: Any = 0,
    ) -> None:
        check_choice("allocation", allocation, ("independent", "proportional"))
        self.batch = checked_batch(batch)
        self.allocation = allocation
        self.delay = checked_delay(delay)
        self.floor = checked_floor(floor)
        self.available = None if available is None else checked_available(available)
        users = 0 if after is None else check_count("after", after, least=0, most=MOST_USERS)
        self.after = np.asarray(users) if users else None

    @property
    def table(self) -> dict[str, Any]:
        """As files have them: the arguments that say something."""
        usual = {"batch": 1, "allocation": "independent", "delay": 0}
        return {name: value for name, value in to_data(self).items() if name != "kind" and usual.get(name) != value}

    @classmethod
    def from_table(cls, table: dict[str, Any] | None) -> "Conditions":
        """What `table` described; it is checked."""
        conditions: Conditions = from_data({"kind": "conditions", **(table or {})}, what="conditions", base=Conditions)
        return conditions

    # What is said of them

    def told(self, horizon: int) -> "Conditions":
        """The same in as few words as possible: where all arms are there, nothing is said of them."""
        if self.available is None or not self.mask(horizon).all():
            return self
        fewer: Conditions = eqx.tree_at(lambda given: given.available, self, None)
        return fewer

    def words(self, horizon: int) -> str:
        """All of them in a sentence."""
        return words_of(self, horizon)

    @property
    def every_user(self) -> bool:
        """Whether a step is one user."""
        return self.batch == 1

    @property
    def at_once(self) -> bool:
        """Whether rewards are seen before the next step."""
        return isinstance(self.delay, int) and self.delay == 0

    @property
    def trivial(self) -> bool:
        """Whether they say nothing at all."""
        return self.masks_alone and self.available is None

    @property
    def masks_alone(self) -> bool:
        """Whether they say nothing but which arms there are."""
        return self.every_user and self.at_once and self.floor is None and self.after is None

    def check(self, problem: AnyProblem, horizon: int) -> None:
        """Raises BadInput where they don't fit a problem and a horizon."""
        truth = problem.truth
        if isinstance(self.batch, tuple) and len(self.batch) != horizon:
            raise BadInput(f"batch must be one number or {horizon}, one per step, got {len(self.batch)}")
        if self.users(horizon) > MOST_USERS:
            raise BadInput(f"batch must have at most {MOST_USERS:,} users in all, got {self.users(horizon):,}")
        for name in ("available", "floor", "after"):
            if getattr(self, name) is not None and not isinstance(truth, FiniteArms):
                raise BadInput(f"{name} must be left out for {type(truth).__name__}: its arms are not finitely many")
        if not isinstance(truth, FiniteArms):
            if not self.every_user and self.allocation == "proportional":
                raise BadInput(
                    f"allocation must be 'independent' for {type(truth).__name__}, whose arms can't be counted"
                )
            return
        if self.available is not None:
            self._check_mask(horizon, truth.arms)
        if self.floor is not None and float(self.floor) * truth.arms > 1 + 1e-12:
            raise BadInput(f"floor must be at most 1 / {truth.arms}, one over the number of arms, got {self.floor}")

    def _check_mask(self, horizon: int, arms: int) -> None:
        assert self.available is not None
        if self.available.dtype != np.bool_:
            if self.available.shape != (arms, 2):
                raise BadInput(
                    f"available must have a first and a last step for each of {arms} arms, got shape"
                    f" {self.available.shape}"
                )
            empty = np.flatnonzero(~self.mask(horizon).any(axis=1))
            if empty.size:
                raise BadInput(f"available must have an arm that can be played at step {empty[0] + 1}, got none")
        elif self.available.shape != (horizon, arms):
            raise BadInput(
                f"available must have axes [T, K], here ({horizon}, {arms}), got shape {self.available.shape}"
            )

    # What they mean for a step

    def sizes(self, horizon: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """How many users each step has, [T]."""
        return np.broadcast_to(np.asarray(self.batch, np.int64), (horizon,))

    def users(self, horizon: int) -> int:
        """How many users the experiment has: what policies take for its horizon."""
        return int(np.sum(self.sizes(horizon)))

    def size(self, t: Integer[Array, ""]) -> Any:
        """How many users step t has."""
        return self.batch if isinstance(self.batch, int) else jnp.asarray(self.batch)[t - 1]

    def clock(self, t: Integer[Array, ""], horizon: int) -> Clock:
        """What a policy sees of the time at step t: the number of the step's first user, of all users; and where arms
        come and go, how many users are yet to come while each arm is there.
        """
        users, staying = self.users(horizon), None if self.available is None else self._arms_left(t, horizon)
        if isinstance(self.batch, int):
            return Clock(t if self.every_user else 1 + (t - 1) * self.batch, users, staying)
        return Clock(jnp.asarray(np.append(1, 1 + np.cumsum(self.batch)[:-1]))[t - 1], users, staying)

    def _arms_left(self, t: Integer[Array, ""], horizon: int) -> Integer[Array, "K"]:
        steps = jnp.arange(1, horizon + 1)
        there = jax.vmap(self._there)(steps) & (steps >= t)[:, None]
        return jnp.sum(there * jnp.asarray(self.sizes(horizon), jnp.int32)[:, None], axis=0)

    def applied(self, context: Context, t: Integer[Array, ""]) -> Context:
        """What is seen before the choice at step t, under these conditions."""
        if self.available is None:
            return context
        now = self._there(t)
        return context._replace(available=now if context.available is None else now & context.available)

    def _there(self, t: Integer[Array, ""]) -> Bool[Array, "K"]:
        """Which arms there are at step t; only where they come and go."""
        assert self.available is not None
        if self.available.dtype == np.bool_:
            return jnp.asarray(self.available)[t - 1]
        first, last = jnp.asarray(self.available).T
        return jnp.asarray((first <= t) & (t <= last))

    def mask(self, horizon: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which arms there are at each step, [T, K], on the host; only where they come and go."""
        assert self.available is not None
        if self.available.dtype == np.bool_:
            return np.asarray(self.available)
        steps = np.arange(1, horizon + 1)[:, None]
        first, last = np.asarray(self.available).T
        return np.asarray((first <= steps) & (steps <= last))

    def floored(self, shares: Float[Array, "K"], context: Context) -> Float[Array, "K"]:
        """Shares with the least one mixed in: floor + (1 - K floor) share, of the K arms that are there."""
        if self.floor is None:
            return shares
        there = context.there(shares.shape[0])
        return jnp.where(there, self.floor + (1 - jnp.sum(there) * self.floor) * shares, 0)

    def pieces(self) -> Float[Array, "d"]:
        """The chance of each delay, the last being never."""
        chances = jnp.asarray(self.delay, jnp.result_type(float))
        return jnp.append(chances, jnp.maximum(1 - jnp.sum(chances), 0))

    @property
    def longest(self) -> int:
        """The longest delay of a reward that is seen at all."""
        return self.delay if isinstance(self.delay, int) else int(self.delay.shape[0]) - 1


class Moment(NamedTuple):
    """A step of an experiment, and how that is run."""

    t: Integer[Array, ""]
    horizon: int
    conditions: Conditions

    @property
    def clock(self) -> Clock:
        """The time of its first user."""
        return self.conditions.clock(self.t, self.horizon)


class PolicyNoise(NamedTuple):
    """The randomness of decisions: the policy's own, and which of them are left to chance for a least share.

    Where there is no least share, there is no `floor`: a key that nobody asks would be traced all the same.
    """

    draw: Noise
    floor: Noise | None

    @classmethod
    def of(cls, noise: Callable[[Stream], Noise], conditions: Conditions) -> "PolicyNoise":
        """From the noise of each stream, as far as conditions need it."""
        return cls(noise(Stream.POLICY), None if conditions.floor is None else noise(Stream.FLOOR))

    def step(self, t: Any) -> "PolicyNoise":
        """Both at a time."""
        return PolicyNoise(self.draw.step(t), None if self.floor is None else self.floor.step(t))


EVERY_USER = Conditions()
