"""What is asked and answered over HTTP: requests and their bodies, answers, refusals."""

import json
from typing import Any, NamedTuple

from starlette.types import Receive, Scope, Send

from tsgrad_runtime.checks import BadInput

MOST_BYTES = 2**16


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


class Refused(Exception):
    """An answer other than what was asked for."""

    def __init__(
        self, status: int, message: str, field: str | None = None, *, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.field, self.headers = status, message, field, headers


class naming:  # noqa: N801
    """What is wrong within is wrong with a field of the request, whatever the argument is called that it becomes.

    Of several fields it is the one that the message begins with, or the first.
    """

    def __init__(self, *fields: str) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, BadInput):
            named = (field for field in self._fields if str(error).startswith(field))
            raise Refused(400, str(error), next(named, self._fields[0])) from None


async def body_of(asked: Asked, *fields: str) -> dict[str, Any]:
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


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)  # made once: `json.loads` would make one for every request
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_answer(content: Any, status: int = 200) -> Answer:
    """An answer in JSON."""
    return Answer(status, _ENCODER.encode(content).encode())


def error_answer(status: int, message: str, field: str | None = None) -> Answer:
    """What is wrong, and with which field of the request."""
    return json_answer({"error": {"message": message[:300], **({"field": field} if field else {})}}, status)
