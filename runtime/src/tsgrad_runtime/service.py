"""The service: decisions and rewards over HTTP, in the words of Microsoft's Personalizer: decide, reward, activate.

Nothing is acknowledged before the ledger has it. Errors are JSON that names the field; no request without the right
token changes anything or is told anything but that the service is well.
"""

import asyncio
import contextlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tsgrad_runtime.checks import BadInput, check_count
from tsgrad_runtime.committer import Committer
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.ledger import LedgerDown, Outcome
from tsgrad_runtime.live_page import experiment_summary, live_page, metrics_text
from tsgrad_runtime.openapi import openapi

MOST_BYTES = 2**16
MOST_USERS = 1000
Endpoint = Callable[["Service", Request], Awaitable[Response]]


class Tokens(NamedTuple):
    """One to decide and report rewards with, one to administer with, which may do all."""

    decide: str
    administer: str


class Refused(Exception):
    """An answer other than what was asked for."""

    def __init__(self, status: int, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field


_REFUSALS: dict[Outcome, Refused] = {
    "unknown": Refused(404, "decision is not known", "id"),
    "not shown": Refused(409, "decision was not shown: activate it before its reward", "id"),
    "contradiction": Refused(409, "value differs from the reward that counts already", "value"),
    "late": Refused(409, "value came after the wait: the default reward counts", "value"),
}


class Service:
    """What the routes share."""

    def __init__(self, experiment: Experiment, tokens: Tokens, *, rate: float, renewal: float) -> None:
        self.experiment = experiment
        self.committer = Committer(experiment, renewal=renewal)
        self.rate, self._allowance, self._then = rate, rate, time.monotonic()
        self.answers: dict[int, int] = {}
        self._known = (tokens.decide.encode(), tokens.administer.encode())

    def admit(self, request: Request, *, administers: bool) -> None:
        """Refuses who has no right token, and what comes faster than the service may be asked."""
        given = b""
        for name, value in request.scope["headers"]:
            if name == b"authorization":
                given = value
                break
        scheme, _, token = given.partition(b" ")
        # Both are compared, so that the time tells nothing.
        decides, rules = (hmac.compare_digest(token.strip(), known) for known in self._known)
        if scheme.lower() != b"bearer" or not (decides or rules):
            raise Refused(401, "authorization must be a bearer token of this service", "authorization")
        if administers and not rules:
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
        yield
        await service.committer.stop()

    def route(path: str, endpoint: Endpoint, method: str, *, administers: bool = False, open_: bool = False) -> Route:
        async def answered(request: Request) -> Response:
            try:
                if not open_:
                    service.admit(request, administers=administers)
                response = await endpoint(service, request)
            except Refused as refused:
                response = _error(refused.status, refused.message, refused.field)
            except BadInput as wrong:
                response = _error(400, str(wrong), _field_of(str(wrong)))
            except LedgerDown as down:
                response = _error(503, f"ledger can't be written to, try again: {down}")
                response.headers["retry-after"] = "1"
            except ClientDisconnect:
                response = Response(status_code=400)
            service.answers[response.status_code] = service.answers.get(response.status_code, 0) + 1
            return response

        return Route(path, answered, methods=[method])

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _error(error.status_code, f"{error.detail}: see /openapi.json for what there is")

    return Starlette(
        routes=[
            route("/v1/decisions", _decide, "POST"),
            route("/v1/decisions/{id}/reward", _reward, "POST"),
            route("/v1/decisions/{id}/activate", _activate, "POST"),
            route("/v1/experiment", _experiment, "GET"),
            route("/v1/arms", _add_arm, "POST", administers=True),
            route("/v1/arms/{name}", _withdraw, "DELETE", administers=True),
            route("/live", _live, "GET"),
            route("/metrics", _metrics, "GET"),
            route("/openapi.json", _openapi, "GET", open_=True),
            route("/healthz", _health, "GET", open_=True),
        ],
        exception_handlers={HTTPException: refused},
        lifespan=lifespan,
    )


async def _decide(service: Service, request: Request) -> Response:
    body = await _body(request, "context", "available", "users", "shown")
    available, shown = body.get("available"), body.get("shown", True)
    if available is not None and not (isinstance(available, list) and all(isinstance(name, str) for name in available)):
        raise Refused(400, "available must be a list of names of arms", "available")
    if not isinstance(shown, bool):
        raise Refused(400, f"shown must be true or false, got {shown!r:.40}", "shown")
    users = None if body.get("users") is None else check_count("users", body["users"], least=1, most=MOST_USERS)
    agent = service.experiment.agent
    scene = agent.scene(body.get("context"), available)
    features = scene.features if agent.model.contexts else None
    made = []
    for _ in range(users or 1):
        decision = agent.propose(scene)
        event = Event(
            "decision",
            agent.clock(),
            decision.id,
            decision.arm,
            decision.propensity,
            features,
            available,
            shown,
            policy=agent.artefact.name,
        )
        made.append((event, {"id": decision.id, "arm": decision.arm, "propensity": decision.propensity}))
    if users is None:
        await service.committer.append(made[0][0])
        return _json(made[0][1], 201)
    await asyncio.gather(*(service.committer.append(event) for event, _ in made))
    return _json({"decisions": [answer for _, answer in made]}, 201)


async def _reward(service: Service, request: Request) -> Response:
    body = await _body(request, "value")
    if "value" not in body or isinstance(body["value"], bool) or not isinstance(body["value"], int | float):
        raise Refused(400, f"value must be a number, got {body.get('value')!r:.40}", "value")
    agent = service.experiment.agent
    value = agent.model.check_reward(body["value"])
    event = Event("reward", agent.clock(), request.path_params["id"][:80], reward=value)
    return _settled(await service.committer.append(event))


async def _activate(service: Service, request: Request) -> Response:
    await _body(request)
    event = Event("activation", service.experiment.agent.clock(), request.path_params["id"][:80])
    return _settled(await service.committer.append(event))


async def _add_arm(service: Service, request: Request) -> Response:
    body = await _body(request, "name", "parameters")
    name, parameters = body.get("name"), body.get("parameters", {})
    if not isinstance(name, str) or not 0 < len(name) <= 200:
        raise Refused(400, f"name must be a text of up to 200 characters, got {name!r:.40}", "name")
    if not isinstance(parameters, dict):
        raise Refused(400, f"parameters must be an object, got {parameters!r:.40}", "parameters")
    event = Event("arm", service.experiment.agent.clock(), arm=name, parameters=parameters)
    service.experiment.agent.check(event)
    await service.committer.append(event)
    return _json({"arms": service.experiment.agent.arms}, 201)


async def _withdraw(service: Service, request: Request) -> Response:
    event = Event("withdrawal", service.experiment.agent.clock(), arm=request.path_params["name"])
    service.experiment.agent.check(event)
    await service.committer.append(event)
    return _json({"withdrawn": sorted(service.experiment.agent.withdrawn)})


async def _experiment(service: Service, request: Request) -> Response:
    return _json(experiment_summary(service.experiment))


async def _live(service: Service, request: Request) -> Response:
    # Nothing but its own style: whatever a name of an arm says, no script runs.
    guard = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'", "cache-control": "no-store"}
    return HTMLResponse(live_page(service.experiment), headers=guard)


async def _metrics(service: Service, request: Request) -> Response:
    text = metrics_text(service.experiment, service.answers)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


async def _openapi(service: Service, request: Request) -> Response:
    return _json(openapi())


async def _health(service: Service, request: Request) -> Response:
    if service.committer.down is not None:
        return _error(503, f"ledger can't be written to: {service.committer.down}")
    return _json({"status": "well"})


async def _body(request: Request, *fields: str) -> dict[str, Any]:
    """The JSON object that was sent, with no other fields than these; nothing at all is an empty one."""
    received = b""
    async for piece in request.stream():
        received += piece
        if len(received) > MOST_BYTES:
            raise Refused(413, f"body must be at most {MOST_BYTES} bytes")
    if not received:
        return {}
    try:
        body = _DECODER.decode(received.decode())
    except (ValueError, RecursionError):
        raise Refused(400, "body must be JSON") from None
    if not isinstance(body, dict):
        raise Refused(400, "body must be a JSON object")
    for name in body:
        if name not in fields:
            raise Refused(400, f"{name!r:.40} is no field of this request: {', '.join(fields) or 'none'}", name[:40])
    return body


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)  # made once: `json.loads` would make one for every request


def _settled(outcome: Outcome) -> Response:
    if outcome in _REFUSALS:
        raise _REFUSALS[outcome]
    return _json({"counted": outcome == "accepted"})


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class _JSON(JSONResponse):
    """An answer in JSON, by an encoder that is not made again for every one."""

    def render(self, content: Any) -> bytes:
        return _ENCODER.encode(content).encode()


def _json(content: Any, status: int = 200) -> Response:
    return _JSON(content, status)


def _error(status: int, message: str, field: str | None = None) -> Response:
    return _JSON({"error": {"message": message[:300], **({"field": field} if field else {})}}, status)


def _field_of(message: str) -> str:
    """The argument that a message begins with."""
    return message.split(" ")[0].split("[")[0].rstrip(":")
