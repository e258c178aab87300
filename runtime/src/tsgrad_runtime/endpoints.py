"""What each request does: decisions, rewards, arms that come and go, and what there is to be seen."""

from typing import Any

from tsgrad_runtime.agent import Agent
from tsgrad_runtime.checks import check_count
from tsgrad_runtime.committer import Committer
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.ledger import Outcome
from tsgrad_runtime.live_page import experiment_summary, live_page, metrics_text
from tsgrad_runtime.messages import Answer, Asked, Refused, body_of, error_answer, json_answer, naming
from tsgrad_runtime.models import IndependentArms
from tsgrad_runtime.openapi import openapi
from tsgrad_runtime.policies import Scene

MOST_USERS = 1000
# What exceptions are made from: one that is raised again and again would keep the frames of every time.
_REFUSALS: dict[Outcome, tuple[int, str, str]] = {
    "unknown": (404, "decision is not known", "id"),
    "not shown": (409, "decision was not shown: activate it before its reward", "id"),
    "contradiction": (409, "value differs from the reward that counts already", "value"),
    "late": (409, "value came after the wait: the default reward counts", "value"),
    "impossible": (409, "name can't be added or withdrawn any more: another request came first", "name"),
}


class Service:
    """What all requests share: the experiment, what appends to its ledger, and counts of answers by their status."""

    def __init__(self, experiment: Experiment, *, renewal: float) -> None:
        self.experiment = experiment
        self.committer = Committer(experiment, renewal=renewal)
        self.answers: dict[int, int] = {}

    def count(self, answer: Answer) -> None:
        """One more answer, for /metrics."""
        self.answers[answer.status] = self.answers.get(answer.status, 0) + 1


async def decide(service: Service, asked: Asked) -> Answer:
    """An arm for a user, or for each of several; all of them are one transaction."""
    body = await body_of(asked, "context", "available", "users", "shown")
    available, shown = body.get("available"), body.get("shown", True)
    if available is not None and not (isinstance(available, list) and all(isinstance(name, str) for name in available)):
        raise Refused(400, "available must be a list of names of arms", "available")
    if not isinstance(shown, bool):
        raise Refused(400, f"shown must be true or false, got {shown!r:.40}", "shown")
    with naming("users"):
        users = None if body.get("users") is None else check_count("users", body["users"], least=1, most=MOST_USERS)
    agent = service.experiment.agent
    scenes = _scenes(agent, body.get("context"), available, users or 1)
    made = []
    for scene in scenes:
        decision = agent.propose(scene)
        event = Event(
            "decision",
            agent.clock(),
            decision.id,
            decision.arm,
            decision.propensity,
            scene.kept_features,
            agent.roster.offered(scene.available),  # not what was asked for: arms that are withdrawn can't be played
            shown,
            policy=agent.artefact.name,
        )
        made.append((event, {"id": decision.id, "arm": decision.arm, "propensity": event.propensity}))
    await service.committer.append(*(event for event, _ in made))
    return json_answer(made[0][1] if users is None else {"decisions": [answer for _, answer in made]}, 201)


def _scenes(agent: Agent, context: Any, available: list[str] | None, users: int) -> list[Scene]:
    """What decisions are made from; what is wrong with the one field is looked for before the other."""
    if available is not None:
        unknown = next((name for name in available if name not in agent.roster), None)
        if unknown is not None:
            names = ", ".join(agent.arms)
            raise Refused(400, f"available must be names among {names!s:.200}, got {unknown!r:.80}", "available")
        if agent.roster.withdrawn.issuperset(available):
            raise Refused(400, "available must name an arm that can be played, got none", "available")
    with naming("context", "available"):
        return agent.scenes(context, available, users)


async def reward(service: Service, asked: Asked) -> Answer:
    """The reward of a decision."""
    body = await body_of(asked, "value")
    if "value" not in body or isinstance(body["value"], bool) or not isinstance(body["value"], int | float):
        raise Refused(400, f"value must be a number, got {body.get('value')!r:.40}", "value")
    agent = service.experiment.agent
    with naming("value"):
        value = agent.model.check_reward(body["value"])
    event = Event("reward", agent.clock(), _identity(asked), reward=value)
    return await _settled(service, event)


async def activate(service: Service, asked: Asked) -> Answer:
    """A choice that waited was shown."""
    await body_of(asked)
    event = Event("activation", service.experiment.agent.clock(), _identity(asked))
    return await _settled(service, event)


async def add_arm(service: Service, asked: Asked) -> Answer:
    """One arm more."""
    body = await body_of(asked, "name", "parameters")
    name, parameters = body.get("name"), body.get("parameters", {})
    if not isinstance(name, str) or not 0 < len(name) <= 200:
        raise Refused(400, f"name must be a text of up to 200 characters, got {name!r:.40}", "name")
    if not isinstance(parameters, dict):
        raise Refused(400, f"parameters must be an object, got {parameters!r:.40}", "parameters")
    agent = service.experiment.agent
    if isinstance(agent.model, IndependentArms):
        with naming("parameters"):
            agent.model.arm_parameters(parameters)
    with naming("name"):
        event = agent.arm_event(name, parameters)
    await _accepted(service, event)
    return json_answer({"arms": agent.arms}, 201)


async def withdraw(service: Service, asked: Asked) -> Answer:
    """An arm is not played any more."""
    agent = service.experiment.agent
    with naming("name"):
        event = agent.withdrawal_event(asked.named("name"))
    await _accepted(service, event)
    return json_answer({"withdrawn": sorted(agent.roster.withdrawn)})


async def show_experiment(service: Service, asked: Asked) -> Answer:
    """How the experiment goes, as JSON."""
    return json_answer(experiment_summary(service.experiment))


async def show_live_page(service: Service, asked: Asked) -> Answer:
    """The same, as a page."""
    # Nothing but its own style: whatever a name of an arm says, no script runs.
    guard = (
        (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
        (b"cache-control", b"no-store"),
    )
    return Answer(200, live_page(service.experiment).encode(), b"text/html; charset=utf-8", guard)


async def show_metrics(service: Service, asked: Asked) -> Answer:
    """Counts for Prometheus."""
    text = metrics_text(service.experiment, service.answers)
    return Answer(200, text.encode(), b"text/plain; version=0.0.4; charset=utf-8")


async def show_openapi(service: Service, asked: Asked) -> Answer:
    """What there is to be asked."""
    return json_answer(openapi(MOST_USERS))


async def tell_health(service: Service, asked: Asked) -> Answer:
    """Whether decisions can be made."""
    if service.committer.down is not None:  # why is for those with a token
        return error_answer(503, "ledger can't be written to")
    return json_answer({"status": "well"})


def _identity(asked: Asked) -> str:
    """The decision that a path names. Ids are made here, in ASCII; PostgreSQL fails a whole batch over one with NUL."""
    identity = asked.named("id")[:80]
    if not identity.isascii() or "\0" in identity:
        raise Refused(*_REFUSALS["unknown"])
    return identity


async def _accepted(service: Service, event: Event) -> Outcome:
    """What became of an event, which is in the ledger now or was before; anything else is refused."""
    (outcome,) = await service.committer.append(event)
    if outcome in _REFUSALS:
        raise Refused(*_REFUSALS[outcome])
    return outcome


async def _settled(service: Service, event: Event) -> Answer:
    return _COUNTED if await _accepted(service, event) == "accepted" else _KNOWN_ALREADY


_COUNTED, _KNOWN_ALREADY = json_answer({"counted": True}), json_answer({"counted": False})
