"""The service: decisions and rewards over HTTP, in the words of Microsoft's Personalizer: decide, reward, activate.

Nothing is acknowledged before the ledger has it. Errors are JSON that names the field; no request without the right
token changes anything or is told anything but that the service is well.
"""

import base64
import contextlib
import hmac
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tsgrad_runtime.agent import Agent
from tsgrad_runtime.checks import BadInput, check_count
from tsgrad_runtime.committer import Committer
from tsgrad_runtime.database import LedgerDown
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.ledger import Outcome
from tsgrad_runtime.live_page import experiment_summary, live_page, metrics_text
from tsgrad_runtime.models import IndependentArms
from tsgrad_runtime.openapi import openapi
from tsgrad_runtime.policies import Scene

_LOG = logging.getLogger(__name__)
MOST_BYTES = 2**16
MOST_USERS = 1000
Endpoint = Callable[["Service", "Asked"], Awaitable["Answer"]]
# A reader may come with a browser, which asks for a user and a password. Browsers send it with every later request,
# whichever site has made it, so that it must not be taken where anything is changed.
Who = Literal["anybody", "reader", "user", "administrator"]
_ASK_FOR_PASSWORD = ((b"www-authenticate", b'Basic realm="tsgrad: any user, a token as password", charset="UTF-8"'),)


class Asked(NamedTuple):
    """A request as the server hands it over: what Starlette's own makes of it takes longer than a decision."""

    scope: Scope
    receive: Receive

    def named(self, parameter: str) -> str:
        """A part of the path."""
        name: str = self.scope["path_params"][parameter]
        return name


class Answer(NamedTuple):
    """What is sent back."""

    status: int
    body: bytes
    kind: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()

    async def send(self, send: Send) -> None:
        """Sends it."""
        length = str(len(self.body)).encode()
        headers = [(b"content-length", length), (b"content-type", self.kind), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class Tokens(NamedTuple):
    """One to decide and report rewards with, one to administer with, which may do all."""

    decide: str
    administer: str


class Refused(Exception):
    """An answer other than what was asked for."""

    def __init__(
        self, status: int, message: str, field: str | None = None, *, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.field, self.headers = status, message, field, headers


class _naming:  # noqa: N801
    """What is wrong within is wrong with a field of the request, whatever the argument is called that it becomes."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, BadInput):
            raise Refused(400, str(error), self._field) from None


# What exceptions are made from: one that is raised again and again would keep the frames of every time.
_REFUSALS: dict[Outcome, tuple[int, str, str]] = {
    "unknown": (404, "decision is not known", "id"),
    "not shown": (409, "decision was not shown: activate it before its reward", "id"),
    "contradiction": (409, "value differs from the reward that counts already", "value"),
    "late": (409, "value came after the wait: the default reward counts", "value"),
    "impossible": (409, "name can't be added or withdrawn any more: another request came first", "name"),
}


class Service:
    """What the routes share."""

    def __init__(self, experiment: Experiment, tokens: Tokens, *, rate: float, renewal: float) -> None:
        self.experiment = experiment
        self.committer = Committer(experiment, renewal=renewal)
        self.rate, self._allowance, self._then = rate, rate, time.monotonic()
        self.answers: dict[int, int] = {}
        self._known = (tokens.decide.encode(), tokens.administer.encode())

    def count(self, answer: Answer) -> None:
        """One more answer, for /metrics."""
        self.answers[answer.status] = self.answers.get(answer.status, 0) + 1

    def admit(self, asked: Asked, who: "Who") -> None:
        """Refuses who has no right token, and what comes faster than the service may be asked."""
        given = b""
        for name, value in asked.scope["headers"]:
            if name == b"authorization":
                given = value
                break
        scheme, _, token = given.partition(b" ")
        scheme, token = scheme.lower(), token.strip()
        if scheme == b"basic" and who == "reader":
            token = _password(token)
        elif scheme != b"bearer":
            token = b""
        # Both are compared, so that the time tells nothing.
        decides, rules = (hmac.compare_digest(token, known) for known in self._known)
        if not (decides or rules):
            message = "authorization must be a bearer token of this service"
            raise Refused(401, message, "authorization", headers=_ASK_FOR_PASSWORD if who == "reader" else ())
        if who == "administrator" and not rules:
            raise Refused(403, "authorization must be the token of administrators here", "authorization")
        now = time.monotonic()
        self._allowance = min(self.rate, self._allowance + (now - self._then) * self.rate)
        self._then = now
        if self._allowance < 1:
            raise Refused(429, f"requests come faster than {self.rate:g} a second")
        self._allowance -= 1


def application(experiment: Experiment, tokens: Tokens, *, rate: float = 20_000.0, renewal: float = 1.0) -> Starlette:
    """The service as an ASGI application.

    Args:
        experiment: what it plays, on its ledger.
        tokens: what requests must carry.
        rate: requests a second, at most.
        renewal: seconds after which what other processes have appended is learned, at the latest.

    """
    service = Service(experiment, tokens, rate=rate, renewal=renewal)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.committer.start()
        try:
            yield
        finally:
            await service.committer.stop()

    def route(path: str, endpoint: Endpoint, method: str, who: Who = "user") -> Route:
        return Route(path, _Answering(service, endpoint, who), methods=[method])

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        answer = _error(error.status_code, f"{error.detail}: see /openapi.json for what there is")
        service.count(answer)
        return Response(answer.body, answer.status, error.headers, media_type=answer.kind.decode())

    app = _Application(
        decide=_Answering(service, _decide, "user"),
        reward=_Answering(service, _reward, "user"),
        routes=[
            route("/v1/decisions", _decide, "POST"),
            route("/v1/decisions/{id}/reward", _reward, "POST"),
            route("/v1/decisions/{id}/activate", _activate, "POST"),
            route("/v1/experiment", _experiment, "GET"),
            route("/v1/arms", _add_arm, "POST", "administrator"),
            route("/v1/arms/{name:path}", _withdraw, "DELETE", "administrator"),
            route("/live", _live, "GET", "reader"),
            route("/metrics", _metrics, "GET"),
            route("/openapi.json", _openapi, "GET", "anybody"),
            route("/healthz", _health, "GET", "anybody"),
        ],
        exception_handlers={HTTPException: refused},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # else a path that ends in one is sent to whatever host the request names
    return app


class _Application(Starlette):
    """Starlette, but that decisions and rewards, which nearly all requests are, are found by their path alone: its
    layers and its search of routes took a tenth of the processor time of a request.
    """

    def __init__(self, *, decide: "_Answering", reward: "_Answering", **options: Any) -> None:
        super().__init__(**options)
        self._decide, self._reward = decide, reward

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and not scope.get("root_path"):
            parts = scope["path"].split("/")
            if parts[:3] == _DECISIONS and len(parts) == 3:
                return await self._decide(scope, receive, send)
            if parts[:3] == _DECISIONS and len(parts) == 5 and parts[3] and parts[4] == "reward":
                scope["path_params"] = {"id": parts[3]}
                return await self._reward(scope, receive, send)
        return await super().__call__(scope, receive, send)


_DECISIONS = ["", "v1", "decisions"]


class _Answering:
    """An endpoint as Starlette calls it, for who may ask.

    One that is no function gets no request and no handling of exceptions of Starlette's own; without them and its
    responses, a request took a fifth less processor time.
    """

    def __init__(self, service: Service, endpoint: Endpoint, who: Who) -> None:
        self._service, self._endpoint, self._who = service, endpoint, who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service, asked = self._service, Asked(scope, receive)
        try:
            if self._who != "anybody":
                service.admit(asked, self._who)
            answer = await self._endpoint(service, asked)
        except Refused as refused:
            answer = _error(refused.status, refused.message, refused.field)._replace(headers=refused.headers)
        except BadInput as wrong:
            answer = _error(400, str(wrong))
        except LedgerDown as down:
            answer = _error(503, f"ledger can't be written to, try again: {down}")
            answer = answer._replace(headers=((b"retry-after", b"1"),))
        except Exception:  # a defect: who asked is told as of any other error, and the log tells where it is
            _LOG.exception("%s %r failed", scope["method"], scope["path"])
            answer = _error(500, "the service failed: its log says why")
        service.count(answer)
        await answer.send(send)


async def _decide(service: Service, asked: Asked) -> Answer:
    body = await _body(asked, "context", "available", "users", "shown")
    available, shown = body.get("available"), body.get("shown", True)
    if available is not None and not (isinstance(available, list) and all(isinstance(name, str) for name in available)):
        raise Refused(400, "available must be a list of names of arms", "available")
    if not isinstance(shown, bool):
        raise Refused(400, f"shown must be true or false, got {shown!r:.40}", "shown")
    with _naming("users"):
        users = None if body.get("users") is None else check_count("users", body["users"], least=1, most=MOST_USERS)
    agent = service.experiment.agent
    scenes = _scenes(agent, body.get("context"), available, users or 1)
    offered = agent.offered(scenes[0])  # not what was asked for: arms that are withdrawn could not be played
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
            offered,
            shown,
            policy=agent.artefact.name,
        )
        made.append((event, {"id": decision.id, "arm": decision.arm, "propensity": event.propensity}))
    await service.committer.append(*(event for event, _ in made))
    return _json(made[0][1] if users is None else {"decisions": [answer for _, answer in made]}, 201)


def _scenes(agent: Agent, context: Any, available: list[str] | None, users: int) -> list[Scene]:
    """What decisions are made from; what is wrong with the one field is looked for before the other."""
    if available is not None:
        unknown = next((name for name in available if name not in agent.index), None)
        if unknown is not None:
            names = ", ".join(agent.arms)
            raise Refused(400, f"available must be names among {names!s:.200}, got {unknown!r:.80}", "available")
        if agent.withdrawn.issuperset(available):
            raise Refused(400, "available must name an arm that can be played, got none", "available")
    with _naming("context" if context is not None or agent.model.contexts else "available"):
        return agent.scenes(context, available, users)


async def _reward(service: Service, asked: Asked) -> Answer:
    body = await _body(asked, "value")
    if "value" not in body or isinstance(body["value"], bool) or not isinstance(body["value"], int | float):
        raise Refused(400, f"value must be a number, got {body.get('value')!r:.40}", "value")
    agent = service.experiment.agent
    with _naming("value"):
        value = agent.model.check_reward(body["value"])
    event = Event("reward", agent.clock(), _identity(asked), reward=value)
    return await _settled(service, event)


async def _activate(service: Service, asked: Asked) -> Answer:
    await _body(asked)
    event = Event("activation", service.experiment.agent.clock(), _identity(asked))
    return await _settled(service, event)


async def _add_arm(service: Service, asked: Asked) -> Answer:
    body = await _body(asked, "name", "parameters")
    name, parameters = body.get("name"), body.get("parameters", {})
    if not isinstance(name, str) or not 0 < len(name) <= 200:
        raise Refused(400, f"name must be a text of up to 200 characters, got {name!r:.40}", "name")
    if not isinstance(parameters, dict):
        raise Refused(400, f"parameters must be an object, got {parameters!r:.40}", "parameters")
    agent = service.experiment.agent
    event = Event("arm", agent.clock(), arm=name, parameters=parameters)
    if isinstance(agent.model, IndependentArms):
        with _naming("parameters"):
            agent.model.with_arm(agent.belief, parameters)
    with _naming("name"):
        agent.check(event)
    await _accepted(service, event)
    return _json({"arms": agent.arms}, 201)


async def _withdraw(service: Service, asked: Asked) -> Answer:
    agent = service.experiment.agent
    event = Event("withdrawal", agent.clock(), arm=asked.named("name"))
    with _naming("name"):
        agent.check(event)
    await _accepted(service, event)
    return _json({"withdrawn": sorted(agent.withdrawn)})


async def _experiment(service: Service, asked: Asked) -> Answer:
    return _json(experiment_summary(service.experiment))


async def _live(service: Service, asked: Asked) -> Answer:
    # Nothing but its own style: whatever a name of an arm says, no script runs.
    guard = (
        (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
        (b"cache-control", b"no-store"),
    )
    return Answer(200, live_page(service.experiment).encode(), b"text/html; charset=utf-8", guard)


async def _metrics(service: Service, asked: Asked) -> Answer:
    text = metrics_text(service.experiment, service.answers)
    return Answer(200, text.encode(), b"text/plain; version=0.0.4; charset=utf-8")


async def _openapi(service: Service, asked: Asked) -> Answer:
    return _json(openapi(MOST_USERS))


async def _health(service: Service, asked: Asked) -> Answer:
    if service.committer.down is not None:  # why is for those with a token
        return _error(503, "ledger can't be written to")
    return _json({"status": "well"})


async def _body(asked: Asked, *fields: str) -> dict[str, Any]:
    """The JSON object that was sent, with no other fields than these; nothing at all is an empty one."""
    received, more = b"", True
    while more:
        message = await asked.receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "body must be sent to its end")
        received += message.get("body", b"")
        more = message.get("more_body", False)
        if len(received) > MOST_BYTES:
            raise Refused(413, f"body must be at most {MOST_BYTES} bytes")
    if not received:
        return {}
    try:
        body = _DECODER.decode(received.decode())
        if b"\\u" in received:  # half of a surrogate pair is text for JSON, but for nothing that it is sent on to
            json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refused(400, "body must be text that UTF-8 can hold, got half of a surrogate pair") from None
    except (ValueError, RecursionError):
        raise Refused(400, "body must be JSON") from None
    if not isinstance(body, dict):
        raise Refused(400, "body must be a JSON object")
    for name in body:
        if name not in fields:
            raise Refused(400, f"{name!r:.40} is no field of this request: {', '.join(fields) or 'none'}", name[:40])
    return body


def _password(given: bytes) -> bytes:
    """That of HTTP's basic authorization, whoever the user is."""
    try:
        return base64.b64decode(given, validate=True).partition(b":")[2]
    except ValueError:
        return b""


def _identity(asked: Asked) -> str:
    """The decision that a path names. Ids are made here, in ASCII; PostgreSQL fails a whole batch over one with NUL."""
    identity = asked.named("id")[:80]
    if not identity.isascii() or "\0" in identity:
        raise Refused(*_REFUSALS["unknown"])
    return identity


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)  # made once: `json.loads` would make one for every request


async def _accepted(service: Service, event: Event) -> Outcome:
    """What became of an event, which is in the ledger now or was before; anything else is refused."""
    (outcome,) = await service.committer.append(event)
    if outcome in _REFUSALS:
        raise Refused(*_REFUSALS[outcome])
    return outcome


async def _settled(service: Service, event: Event) -> Answer:
    return _COUNTED if await _accepted(service, event) == "accepted" else _KNOWN_ALREADY


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _json(content: Any, status: int = 200) -> Answer:
    return Answer(status, _ENCODER.encode(content).encode())


_COUNTED, _KNOWN_ALREADY = _json({"counted": True}), _json({"counted": False})


def _error(status: int, message: str, field: str | None = None) -> Answer:
    return _json({"error": {"message": message[:300], **({"field": field} if field else {})}}, status)
