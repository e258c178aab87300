"""The transition: one step of an episode, written once. Rollouts, replays, look-aheads and oracles are made of it.

The crowd says who comes and what they play and earn, the feedback when that is seen: what is on its way travels with
the state, in arrays of fixed size.
"""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Integer

from tsgrad.checks import BadInput
from tsgrad.policies import Memoryless, Policy
from tsgrad.problems import AnyProblem, Context, Problem, SummedArms
from tsgrad.simulation.conditions import Conditions
from tsgrad.simulation.crowds import ONE_USER, Counted, Crowd, Item, Known, Listed, Player


class State(NamedTuple):
    """What goes from step to step: what is believed, what the policy remembers, what is still to be seen, and how often
    each arm was played [K], where its rewards come in that order.
    """

    belief: Any
    memory: Any
    pending: Any = None
    plays: Any = None

    @property
    def known(self) -> Known:
        """What decisions are made from."""
        return Known(self.belief, self.memory)


class Feedback(eqx.Module):
    """When rewards are seen."""

    @abc.abstractmethod
    def nothing(self, model: Problem, shapes: Callable[[], Item]) -> Any:
        """What is on its way before the first step, from the shapes of what a step adds."""

    @abc.abstractmethod
    def learn(self, crowd: Crowd, player: Player, state: State, item: Item) -> State:
        """The state after a step: belief and memory renewed by what has become visible."""

    @abc.abstractmethod
    def at_the_end(self, crowd: Crowd, player: Player, state: State) -> Any:
        """The belief once all that will ever be seen has been."""


class AtOnce(Feedback):
    """A reward is seen before the next choice."""

    def nothing(self, model: Problem, shapes: Callable[[], Item]) -> None:
        return None

    def learn(self, crowd: Crowd, player: Player, state: State, item: Item) -> State:
        return State(*crowd.renew(player, state.known, item, None))

    def at_the_end(self, crowd: Crowd, player: Player, state: State) -> Any:
        return state.belief


class Queue(NamedTuple):
    """The last steps, the oldest first, and how many steps there were."""

    items: Item
    steps: Integer[Array, ""]

    @classmethod
    def empty(cls, shapes: Item, length: int) -> "Queue":
        """Before the first step."""
        return cls(jax.tree.map(lambda leaf: jnp.zeros((length, *leaf.shape), leaf.dtype), shapes), jnp.int32(0))

    def and_then(self, item: Item) -> "Queue":
        """With one more step, and without the oldest."""
        items = jax.tree.map(lambda old, new: jnp.concatenate([old[1:], new[None]]), self.items, item)
        return Queue(items, self.steps + 1)


class AfterSteps(Feedback):
    """A reward is seen a fixed number of steps later."""

    delay: int = eqx.field(static=True)

    def nothing(self, model: Problem, shapes: Callable[[], Item]) -> Queue:
        return Queue.empty(shapes(), self.delay)

    def learn(self, crowd: Crowd, player: Player, state: State, item: Item) -> State:
        queue: Queue = state.pending
        oldest: Item = jax.tree.map(lambda leaf: leaf[0], queue.items)
        renewed = crowd.renew(player, state.known, oldest, queue.steps >= self.delay)
        return State(*renewed, queue.and_then(item))

    def at_the_end(self, crowd: Crowd, player: Player, state: State) -> Any:
        queue: Queue = state.pending

        def see(known: Known, inputs: tuple[Any, Item]) -> tuple[Known, None]:
            place, item = inputs
            return crowd.renew(player, known, item, queue.steps >= self.delay - place), None

        return jax.lax.scan(see, state.known, (jnp.arange(self.delay), queue.items))[0].belief


class AfterAnyTime(Feedback):
    """Each reward has a delay of its own, up to a longest one, or is never seen. The oldest are seen first."""

    longest: int = eqx.field(static=True)

    def nothing(self, model: Problem, shapes: Callable[[], Item]) -> Queue:
        return Queue.empty(shapes(), self.longest + 1)

    def learn(self, crowd: Crowd, player: Player, state: State, item: Item) -> State:
        queue = state.pending.and_then(item)
        return State(*self._seen(crowd, player, state, queue, lambda delay, age: delay == age), queue)

    def at_the_end(self, crowd: Crowd, player: Player, state: State) -> Any:
        def later(delay: Any, age: Any) -> Any:
            return (delay > age) & (delay <= self.longest)

        return self._seen(crowd, player, state, state.pending, later).belief

    def _seen(self, crowd: Crowd, player: Player, state: State, queue: Queue, which: Any) -> Known:
        def see(known: Known, inputs: tuple[Any, Item]) -> tuple[Known, None]:
            age, item = inputs
            seen = which(item.paid.delay, age) & (queue.steps > age)
            return crowd.renew(player, known, item, seen), None

        ages = jnp.arange(self.longest, -1, -1)
        known: Known = jax.lax.scan(see, state.known, (ages, queue.items))[0]
        return known


class SumsLater(Feedback):
    """Sums of rewards, of which parts are seen later: what they add to the belief waits at its step of arrival."""

    longest: int = eqx.field(static=True)
    all_late: bool = eqx.field(static=True)  # by the longest delay, all of them

    def nothing(self, model: Any, shapes: Callable[[], Item]) -> Any:
        one = model.prior(0)
        return jax.tree.map(lambda leaf: jnp.zeros((self.longest + 1, *leaf.shape), leaf.dtype), one)

    def learn(self, crowd: Crowd, player: Player, state: State, item: Item) -> State:
        if self.all_late:
            waiting = jax.tree.map(
                lambda old, new: old.at[-1].add(new), state.pending, crowd.evidence(player.model, item.paid)
            )
        else:
            evidence = jax.vmap(lambda paid: crowd.evidence(player.model, paid))(item.paid)
            waiting = jax.tree.map(lambda old, new: old + new[:-1], state.pending, evidence)  # the last is never seen
        belief = jax.tree.map(lambda known, now: known + now[0], state.belief, waiting)
        moved = jax.tree.map(lambda leaf: jnp.concatenate([leaf[1:], jnp.zeros_like(leaf[:1])]), waiting)
        return State(belief, state.memory, moved)

    def at_the_end(self, crowd: Crowd, player: Player, state: State) -> Any:
        return jax.tree.map(lambda known, waiting: known + jnp.sum(waiting, axis=0), state.belief, state.pending)


AT_ONCE = AtOnce()


def crowd_of(conditions: Conditions, problem: AnyProblem, policy: Policy) -> Crowd:
    """The cheapest crowd that is right: many users are counted where nothing but their number matters."""
    if conditions.every_user:
        return ONE_USER
    truth, model = problem.truth, problem.model
    if (
        isinstance(policy, Memoryless)
        and isinstance(truth, SummedArms)
        and isinstance(model, SummedArms)
        and (truth.tells_scatter or not model.needs_scatter)
    ):
        return Counted()
    if conditions.allocation == "proportional":
        raise BadInput(
            f"allocation must be 'independent' for {type(policy).__name__} on {type(model).__name__}: users with"
            " contexts or memories of their own are decided on one by one"
        )
    return Listed(conditions.batch if isinstance(conditions.batch, int) else max(conditions.batch))


def feedback_of(conditions: Conditions, crowd: Crowd) -> Feedback:
    """When a crowd's rewards are seen under conditions."""
    if conditions.at_once:
        return AT_ONCE
    fixed = isinstance(conditions.delay, int)
    if crowd.counted:
        return SumsLater(conditions.longest, fixed)
    return AfterSteps(conditions.longest) if fixed else AfterAnyTime(conditions.longest)


class Taken(NamedTuple):
    """One step: what the choice was made from, what was drawn (None where nothing was), what was played and paid.

    For single users that is an arm and its reward; see `tsgrad.simulation.crowds` for others.
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
    later = feedback.learn(crowd, Player(model, policy), state, Item(context, played, paid))
    if state.plays is not None:
        later = later._replace(plays=state.plays + (jnp.arange(state.plays.shape[0]) == played))
    return later, Taken(state.belief, state.memory, pseudo_action, played, crowd.recorded(paid))
