"""The service: decisions and rewards over HTTP, in the words of Microsoft's Personalizer: decide, reward, activate.

Nothing is acknowledged before the ledger has it. Errors are JSON that names the field; no request without the right
token changes anything or is told anything but that the service is well.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tsgrad_runtime import endpoints
from tsgrad_runtime.admission import Admission, Tokens, Who
from tsgrad_runtime.checks import BadInput
from tsgrad_runtime.database import LedgerDown
from tsgrad_runtime.endpoints import Service
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.messages import Answer, Asked, Refused, error_answer

_LOG = logging.getLogger(__name__)
Endpoint = Callable[[Service, Asked], Awaitable[Answer]]


def application(experiment: Experiment, tokens: Tokens, *, rate: float = 20_000.0, renewal: float = 1.0) -> Starlette:
    """The service as an ASGI application.

    Args:
        experiment: what it plays, on its ledger.
        tokens: what requests must carry.
        rate: requests a second, at most.
        renewal: seconds after which what other processes have appended is learned, at the latest.

    """
    service, admission = Service(experiment, renewal=renewal), Admission(tokens, rate)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.committer.start()
        try:
            yield
        finally:
            await service.committer.stop()

    def answering(endpoint: Endpoint, who: Who = "user") -> _Answering:
        return _Answering(service, admission, endpoint, who)

    def route(path: str, endpoint: Endpoint, method: str, who: Who = "user") -> Route:
        return Route(path, answering(endpoint, who), methods=[method])

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        answer = error_answer(error.status_code, f"{error.detail}: see /openapi.json for what there is")
        service.count(answer)
        return Response(answer.body, answer.status, error.headers, media_type=answer.kind.decode())

    app = _Application(
        decide=answering(endpoints.decide),
        reward=answering(endpoints.reward),
        routes=[
            route("/v1/decisions", endpoints.decide, "POST"),
            route("/v1/decisions/{id}/reward", endpoints.reward, "POST"),
            route("/v1/decisions/{id}/activate", endpoints.activate, "POST"),
            route("/v1/experiment", endpoints.show_experiment, "GET"),
            route("/v1/arms", endpoints.add_arm, "POST", "administrator"),
            route("/v1/arms/{name:path}", endpoints.withdraw, "DELETE", "administrator"),
            route("/live", endpoints.show_live_page, "GET", "reader"),
            route("/metrics", endpoints.show_metrics, "GET"),
            route("/openapi.json", endpoints.show_openapi, "GET", "anybody"),
            route("/healthz", endpoints.tell_health, "GET", "anybody"),
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

    def __init__(self, service: Service, admission: Admission, endpoint: Endpoint, who: Who) -> None:
        self._service, self._admission, self._endpoint, self._who = service, admission, endpoint, who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service, asked = self._service, Asked(scope, receive)
        try:
            if self._who != "anybody":
                self._admission.admit(asked, self._who)
            answer = await self._endpoint(service, asked)
        except Refused as refused:
            answer = error_answer(refused.status, refused.message, refused.field)._replace(headers=refused.headers)
        except BadInput as wrong:
            answer = error_answer(400, str(wrong))
        except LedgerDown as down:
            answer = error_answer(503, f"ledger can't be written to, try again: {down}")
            answer = answer._replace(headers=((b"retry-after", b"1"),))
        except Exception:  # a defect: who asked is told as of any other error, and the log tells where it is
            _LOG.exception("%s %r failed", scope["method"], scope["path"])
            answer = error_answer(500, "the service failed: its log says why")
        service.count(answer)
        await answer.send(send)
