"""The agent: decides, says with which probability, and learns from rewards whenever they come.

>>> from tsgrad_runtime.artefact import artefact_of
>>> content = {"policy": {"kind": "thompson"}, "problem": {"kind": "bernoulli", "alpha": [1, 1], "beta": [1, 1]},
...            "horizon": 100, "arms": ["red", "blue"]}
>>> agent = Agent(artefact_of(content, "example"), seed=0)
>>> decision = agent.decide()
>>> decision.arm, round(decision.propensity, 6)
('blue', 0.5)
>>> agent.reward(decision.id, 1), agent.reward(decision.id, 1)  # a repetition counts once
(True, False)
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, overload

import numpy as np

from tsgrad_runtime.artefact import Artefact, read_artefact
from tsgrad_runtime.checks import BadInput, FloatArray, check_count, check_name, check_number
from tsgrad_runtime.conditions import MOST_FLOORS, left_to_chance
from tsgrad_runtime.decision import Decision, Open
from tsgrad_runtime.events import Event
from tsgrad_runtime.models import IndependentArms, Model
from tsgrad_runtime.policies import Policy, Scene
from tsgrad_runtime.policies.kept import PerScene
from tsgrad_runtime.roster import Roster
from tsgrad_runtime.streams import Noise, Purpose, Stream

MOST_USERS = 100_000
_MOST_SCENES = 64


class Agent:
    """Plays one experiment with the policy of an artefact. State lives in memory; see `snapshot`, or use a ledger.

    Args:
        artefact: what to play.
        seed: of all decisions; drawn from the system's randomness unless given.
        process: tells agents of one experiment apart that share a seed, so that their decisions are independent.
        wait: seconds after which a decision without a reward gets the `default` one; None to wait forever.
        default: the reward that counts after the wait.
        batch: the belief is renewed every so many decisions; 1 renews it with every reward. Unless given, it is as the
            policy was trained for.
        clock: seconds since 1970.

    After the horizon it decides as at its last step.

    >>> import tempfile, tsgrad as tg
    >>> from tsgrad_runtime import Agent
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/policy.json"
    ...     tg.write_policy(path, tg.Thompson(), problem=tg.BernoulliBandit(arms=2), horizon=100, arms=["red", "blue"])
    ...     agent = Agent.load(path, seed=1)
    >>> decision = agent.decide()
    >>> decision.arm in ("red", "blue"), round(decision.propensity, 3)
    (True, 0.5)
    >>> agent.reward(decision.id, 1)
    True

    """

    def __init__(
        self,
        artefact: Artefact,
        *,
        seed: int | None = None,
        process: int = 0,
        wait: float | None = None,
        default: float = 0.0,
        batch: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.artefact, self.model, self.policy = artefact, artefact.model, artefact.policy
        self._shares = self._shares_of(self.policy)
        self.roster = Roster(artefact.arms)
        own = int.from_bytes(os.urandom(8), "big")
        self.seed = own if seed is None else check_count("seed", seed, least=0, most=2**64 - 1)
        self.process = check_count("process", process, least=0, most=2**32 - 1)
        self.wait = None if wait is None else check_number("wait", wait, above=0)
        self.default = check_number("default", default) if wait is None else _default(self.model, default)
        self.conditions = artefact.conditions
        self.batch = None if batch is None else check_count("batch", batch, least=1)
        batches = self.conditions is not None and self.conditions.batches
        # Whether the belief is renewed with every reward.
        self.at_once = self.batch == 1 or (self.batch is None and not batches)
        self.clock = clock
        self.steps = 0  # decisions that were shown
        self.number = 0  # decisions made here: the step of their noise
        self.belief = self.model.prior()
        self.memory = self.policy.start(self.model)
        self.open: dict[str, Open] = {}  # shown, in the order in which they were
        self.unshown: dict[str, Open] = {}
        self.settled: dict[str, float | None] = {}  # rewards that counted; None for the default
        self.pending: list[tuple[Any, Any, float]] = []
        where: dict[str, Any] = {"seed": self.seed, "purpose": Purpose.DEPLOYMENT, "episode": self.process}
        self._noise = Noise.of(stream=Stream.POLICY, **where)
        self._floor_noise = Noise.of(stream=Stream.FLOOR, **where)
        # Ids say which agent decided and which of its decisions it was; not the seed, which would tell what comes.
        self._prefix = f"{hashlib.sha256(f'{self.seed} {self.process}'.encode()).hexdigest()[:20]}-"
        self.keeps_open = True  # false where a ledger knows which decisions wait
        self._scenes: dict[Any, Scene] = {}  # of the present state, so that chances are computed once

    @property
    def arms(self) -> list[str]:
        """The names of the arms, in the order of their numbers; those that were withdrawn keep theirs."""
        return self.roster.names

    @classmethod
    def load(cls, path: str | Path, **options: Any) -> "Agent":
        """An agent for the policy in a file; options as above."""
        return cls(read_artefact(path), **options)

    # Decisions

    @overload
    def decide(
        self, context: Any = None, available: Iterable[str] | None = None, users: None = None, *, shown: bool = True
    ) -> Decision: ...

    @overload
    def decide(
        self, context: Any = None, available: Iterable[str] | None = None, *, users: int, shown: bool = True
    ) -> list[Decision]: ...

    def decide(
        self,
        context: Any = None,
        available: Iterable[str] | None = None,
        users: int | None = None,
        *,
        shown: bool = True,
    ) -> Decision | list[Decision]:
        """An arm for one user, or one for each of several, all from the same belief.

        Defaults of what has waited too long are counted first.

        Args:
            context: features of the arms [K, d] where the problem has contexts, else None.
            available: names of the arms that can be played; None where all can.
            users: how many decisions; None for one, which is then returned by itself.
            shown: false for choices that may never be shown, and count only once they are activated.

        Returns:
            The decision, or a list of them.

        """
        if self.wait is not None:
            self.expire()
        if users is None:
            return self._decided(self.scene(context, available), shown)
        count = check_count("users", users, least=1, most=MOST_USERS)
        return [self._decided(scene, shown) for scene in self.scenes(context, available, count)]

    def scenes(self, context: Any, available: Iterable[str] | None, users: int) -> list[Scene]:
        """What decisions for the next users would be made from now: all the same, but that each has their own features
        where those are given for each user, and the arms of their step where arms come and go by a schedule.
        """
        first = self.scene(context, available)
        scenes, reached = [first], self._stage()
        for ahead in range(1, users):
            # Who comes after the end of a step finds the arms of the next one.
            scene, stage = scenes[-1], self._stage(ahead)
            if stage != reached:
                mask, staying = self._there(self.roster.mask(None if available is None else _names(available)), stage)
                scene, reached = scene._replace(available=mask, arms_left=staying, t=self._time(ahead)), stage
            if self.model.varying and not self.model.contexts:
                scene = scene._replace(features=self.model.features_for(self.steps + 1 + ahead))
            scenes.append(scene)
        return scenes

    def scene(self, context: Any = None, available: Iterable[str] | None = None) -> Scene:
        """What a decision would be made from now."""
        names = None if available is None else _names(available)
        plain = context is None and not self.model.contexts
        if plain and names in self._scenes:
            return self._scenes[names]
        mask, staying = self._there(self.roster.mask(names), self._stage())
        scene = Scene(
            self.model,
            self.belief,
            self.memory,
            self._features(context),
            mask,
            self._time(),
            self.artefact.horizon,
            staying,
        )
        if plain and len(self._scenes) < _MOST_SCENES:
            self._scenes[names] = scene
        return scene

    def _features(self, context: Any) -> FloatArray | None:
        """Of the arms for the next user: those given with the decision, or the model's."""
        if context is not None or self.model.contexts:
            return self.model.check_context(context)
        return self.model.features_for(self.steps + 1)

    def propose(self, scene: Scene) -> Decision:
        """A decision that nothing has come of yet: `apply` makes it one of the experiment's."""
        self.number += 1
        arm = self.policy.arm(scene, self._noise, self.number)
        if self.conditions is not None and self.conditions.floor:
            other = left_to_chance(
                self.conditions.floor, self._floor_noise, self.number, scene.available, len(self.arms)
            )
            arm = arm if other is None else other
        named = arm.tolist() if isinstance(arm, np.ndarray) else self.arms[arm]
        shares = self._shares  # of the policy that decides now: with an arm more it is another one
        return Decision(f"{self._prefix}{self.number:x}", named, lambda: _chance(shares, scene, arm))

    def shares(self, scene: Scene) -> FloatArray:
        """The chance of each arm, [K]: exact by quadrature, or by draws where `policy.exact_shares` is false or arms
        are not independent: 4,096 of them, 128 of policies that plan.
        """
        return self._shares(scene)

    def _shares_of(self, policy: Policy) -> Callable[[Scene], FloatArray]:
        """The shares of a policy, computed once for all scenes that differ in nothing that they depend on."""
        kept = PerScene(lambda scene: self._computed_shares(policy, scene))
        return lambda scene: kept(scene, policy.stage(scene))

    def _computed_shares(self, policy: Policy, scene: Scene) -> FloatArray:
        # The same for the same state, whoever asks and when: of decisions before it, and after a snapshot too.
        known = hashlib.sha256(b"".join(part.tobytes() for part in (*scene.belief, *(scene.memory or ()))))
        words = int.from_bytes(known.digest()[:8], "big"), self.process
        generator = np.random.Generator(np.random.Philox(key=self.seed, counter=[*words, 0, 0]))
        shares = policy.shares(scene, generator)
        return shares if self.conditions is None else self.conditions.floored(shares, scene.available)

    def _time(self, ahead: int = 0) -> int:
        """The number of the next decision, or of one after it; of the first of its step where steps have several."""
        after = self.steps + ahead
        if self.conditions is None:
            return min(after + 1, self.artefact.horizon)
        return self.conditions.first_user(self.conditions.step(after))

    def _stage(self, ahead: int = 0) -> int:
        """The step in which the next user comes, or one after others; one and the same where there is no schedule."""
        if self.conditions is None or self.conditions.available is None:
            return 0
        return self.conditions.step(self.steps + ahead)

    def _there(self, mask: Any, step: int) -> tuple[Any, Any]:
        """Which arms of a mask there are at a step, and how long they stay."""
        conditions = self.conditions
        if conditions is None or conditions.available is None:
            return mask, None
        there = conditions.there(step, len(self.arms))
        mask = there if mask is None else mask & there
        if not mask.any():
            raise BadInput(f"available must name an arm that is there at step {step + 1}, got none")
        return mask, conditions.staying(step, len(self.arms))

    def _decided(self, scene: Scene, shown: bool) -> Decision:
        decision = self.propose(scene)
        offered = self.roster.offered(scene.available)
        self.apply(
            Event("decision", self.clock(), decision.id, decision.arm, None, scene.kept_features, offered, shown)
        )
        return decision

    # What comes of them

    def reward(self, decision: str, value: Any) -> bool:
        """The reward of a decision, late or out of order; true if it counted, false if it was known already.

        A reward other than the one that counted is refused, as is one that comes after the default took its place.
        """
        reward = self.model.check_reward(value)
        _check_id(decision)
        self.expire()
        if decision in self.settled:
            known = self.settled[decision]
            if known is None:
                raise BadInput(
                    f"reward of decision {decision!r:.80} came after the wait: the default {self.default} counts"
                )
            if known != reward:
                raise BadInput(f"reward of decision {decision!r:.80} is {known} already, got {reward}")
            return False
        if not self._is_shown(decision):
            raise BadInput(f"decision {decision!r:.80} was not shown: activate it before its reward")
        self.apply(Event("reward", self.clock(), decision, reward=reward))
        self.settled[decision] = reward
        return True

    def activate(self, decision: str) -> bool:
        """A choice that waited was shown; true if that is news."""
        if _check_id(decision) in self.settled or self._is_shown(decision):
            return False
        self.apply(Event("activation", self.clock(), decision))
        return True

    def expire(self) -> int:
        """Counts the default reward for every decision that has waited too long; how many there were."""
        late = self.overdue()
        for decision in late:
            self.apply(Event("default", self.clock(), decision, reward=self.default))
            self.settled[decision] = None
        return len(late)

    def overdue(self) -> list[str]:
        """Decisions that have waited too long for their reward."""
        if self.wait is None:
            return []
        now = self.clock()
        late: list[str] = []
        ahead: list[str] = []  # shown in the future, by a clock that was ahead: as old as what was shown after it
        for decision, waiting in self.open.items():
            if waiting.at > now:
                ahead.append(decision)
                continue
            if now - waiting.at < self.wait:
                break
            late += [*ahead, decision]
            ahead.clear()
        return late

    def add_arm(self, name: str, **parameters: Any) -> None:
        """One arm more, of which nothing was seen; its parameters are those of the others unless told."""
        self.apply(self.arm_event(name, parameters))

    def withdraw(self, name: str) -> None:
        """An arm is not played any more; rewards that are still to come count."""
        self.apply(self.withdrawal_event(name))

    # State

    def apply(self, event: Event) -> bool:
        """The state after one more event; false where it changes nothing.

        An arm that can't be added or withdrawn any more is left as it is: whoever asked was told that it could be, and
        other events came first. They are in the ledger in one order, so that every agent leaves out the same.
        """
        self._scenes.clear()
        match event.kind:
            case "decision":
                assert event.decision is not None
                arm, features = self._played(event)
                if self.keeps_open:
                    (self.open if event.shown else self.unshown)[event.decision] = Open(arm, features, event.at)
                if event.shown:
                    self._step()
            case "activation":
                if self.keeps_open:
                    waiting = self.unshown.pop(event.decision or "")
                    self.open[event.decision or ""] = waiting._replace(at=event.at)
                self._step()
            case "reward" | "default":
                arm, features = self._played(event)
                assert event.reward is not None
                self.pending.append((features, arm, event.reward))
                if self.at_once:
                    self._renew()
            case "arm":
                return self._add(event)
            case "withdrawal":
                return self._withdraw(event.arm)
        return True

    def _played(self, event: Event) -> tuple[Any, Any]:
        """Arm and features of what was decided: as the event says, else as was kept."""
        if event.arm is None:
            waiting = self.open.pop(event.decision or "")
            return waiting.arm, waiting.features
        arm = self.roster.number(event.arm) if isinstance(event.arm, str) else np.asarray(event.arm, np.float64)
        return arm, None if event.features is None else np.asarray(event.features, np.float64)

    def _step(self) -> None:
        self.steps += 1
        if self.at_once:
            return
        if self.batch is not None:
            due = self.steps % self.batch == 0
        else:
            due = self.conditions is not None and self.conditions.ends_step(self.steps)
        if due:
            self._renew()

    def _renew(self) -> None:
        """Belief and memory learn what has come since."""
        for seen, arm, reward in self.pending:
            features = self.learned_with(seen)
            self.belief = self.model.update(self.belief, features, arm, reward)
            self.memory = self.policy.remember(self.model, self.memory, features, arm, reward)
        self.pending.clear()

    def learned_with(self, seen: Any) -> FloatArray | None:
        """The features of the arms that a reward is learned with: those seen at its decision, or the model's.

        Older ledgers and snapshots don't say what was seen where features are given for each user; their
        rewards are learned with those of now, as they were then.
        """
        return self.model.features_for(self.steps) if seen is None and not self.model.contexts else seen

    def arm_event(self, name: Any, parameters: dict[str, Any]) -> Event:
        """An arm that is to be added, with all of its parameters: other versions of the policy may differ in theirs."""
        model = self._growing()
        if check_name("name of a new arm", name) in ("", *self.arms):
            raise BadInput(
                f"name of a new arm must be one that no other arm has or had, and not empty, got {name!r:.80}"
            )
        floor = 0.0 if self.conditions is None else self.conditions.floor
        played = len(self.arms) - len(self.roster.withdrawn) + 1
        if floor * played > MOST_FLOORS:
            raise BadInput(
                f"name of a new arm can't be taken, {name!r:.80}: {played} arms with a share of {floor:g} or more"
                " each would have above 1: withdraw one first, or train with a smaller floor"
            )
        return Event("arm", self.clock(), arm=name, parameters=model.arm_parameters(parameters))

    def withdrawal_event(self, name: Any) -> Event:
        """An arm that is to be withdrawn."""
        self.roster.number(name)
        if (step := self._left_without(name)) is not None:
            where = f" at step {step + 1}" if self.conditions is not None else ""
            raise BadInput(f"arm {name!r:.80} can't be withdrawn: it is the last{where}")
        return Event("withdrawal", self.clock(), arm=name)

    def _left_without(self, name: str) -> int | None:
        """The first step from now on at which there would be no arm without this one; None if there is none."""
        kept = np.array([arm != name and arm not in self.roster.withdrawn for arm in self.arms])
        if self.conditions is None:
            return None if kept.any() else 0
        return self.conditions.step_without(kept, self.conditions.step(self.steps))

    def _add(self, event: Event) -> bool:
        growing = self._growing()
        if event.arm in self.roster:
            return False
        try:
            model, self.belief = growing.with_arm(self.belief, event.parameters or {})
        except BadInput:
            return False
        self.play(model)
        self.roster.add(event.arm)
        return True

    def play(self, model: Model) -> None:
        """Goes on with another model, and a policy of its own for it: the artefact's may play for other agents too."""
        self.model, self.policy = model, self.artefact.policy_for(model)
        self._shares = self._shares_of(self.policy)

    def _growing(self) -> IndependentArms:
        """The model, where arms can be added at all: that depends on the policy, not on what came first."""
        if not isinstance(self.model, IndependentArms) or self.policy.per_arm or self.memory is not None:
            raise BadInput(
                "arms can't be added to this policy: train one with shared meta-parameters for arms that come"
            )
        return self.model

    def _withdraw(self, name: Any) -> bool:
        self.roster.number(name)
        if self._left_without(name) is not None:
            return False
        self.roster.withdrawn.add(name)
        return True

    def _is_shown(self, decision: str) -> bool:
        if decision not in self.open and decision not in self.unshown:
            raise BadInput(f"decision {decision!r:.80} is not known")
        return decision in self.open

    # Snapshots

    def snapshot(self, path: str | Path) -> None:
        """Writes all of the state, whole; `restore` goes on from it, bit for bit."""
        from tsgrad_runtime.snapshot import write_snapshot

        write_snapshot(self, path)

    @staticmethod
    def restore(policy: str | Path, snapshot: str | Path, clock: Callable[[], float] = time.time) -> "Agent":
        """The agent that wrote a snapshot, with the policy that it played."""
        from tsgrad_runtime.snapshot import restored

        return restored(policy, snapshot, clock)


def _chance(shares: Callable[[Scene], FloatArray], scene: Scene, arm: Any) -> float | None:
    return None if scene.model.arms is None else float(shares(scene)[arm])


def _default(model: Model, reward: Any) -> float:
    try:
        return model.check_reward(reward)
    except BadInput as error:
        raise BadInput(f"default can't be a reward: {error}") from None


def _names(available: Any) -> tuple[str, ...]:
    several = isinstance(available, Iterable) and not isinstance(available, str)  # which would be names of one letter
    names = tuple(available) if several else (None,)
    if not all(isinstance(name, str) for name in names):
        raise BadInput(f"available must be names of arms, such as ['red', 'blue'], got {available!r:.80}")
    return names


def _check_id(decision: Any) -> str:
    if not isinstance(decision, str):
        raise BadInput(f"decision must be the id of one, a text, got {decision!r:.80}")
    return decision
