"""Connections that can't be misused. Uvicorn limits nothing before the body of a request, so that anybody could fill
the memory with one header, or hold all connections with requests that never end.
"""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

MOST_HEAD = 2**15  # bytes of a request line with its headers
PATIENCE = 10.0  # seconds that a request may take to arrive
MOST_CONNECTIONS = 900  # most systems let a process have 1,024 files, and the ledger needs some


class GuardedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol, with a limit on heads, on the time of requests to arrive, and on connections.

    A connection has one timer, which looks when its request began: one for every request would cost each of them.
    """

    patience = PATIENCE

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._since: float | None = None  # when the request began that has not arrived yet
        self._whole_head = False  # whether its head is there
        self._head = 0  # bytes of its head so far; -1 where a read began with what came before it
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection has until the end of its patience to ask for anything."""
        full = self.limit_concurrency is not None and len(self.connections) + 1 >= self.limit_concurrency
        super().connection_made(transport)
        if full:
            self._refuse(503, "connections are all in use, try again")
            return
        self._since = self.loop.time()
        self._timer = self.loop.call_later(self.patience, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Reads in parts that are no longer than a head may be, so that the parser never holds much more."""
        if len(data) <= MOST_HEAD:
            self._read(data)
            return
        for start in range(0, len(data), MOST_HEAD):
            if self.transport.is_closing():
                return
            self._read(data[start : start + MOST_HEAD])

    def on_message_begin(self) -> None:
        if self._since is None:
            self._since = self.loop.time()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._whole_head = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._whole_head, self._since, self._head = False, None, -1
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """In JSON, as all errors are."""
        self._refuse(400, msg)

    def _read(self, data: bytes) -> None:
        if self._since is None:  # empty lines, too, before which no request begins for the parser
            self._since, self._head = self.loop.time(), 0
        super().data_received(data)
        if self._since is None or self._whole_head:
            return
        self._head = 0 if self._head < 0 else self._head + len(data)
        if self._head > MOST_HEAD and not self.transport.is_closing():
            self._refuse(431, f"headers must be at most {MOST_HEAD} bytes")

    def _look(self) -> None:
        """Closes the connection if its request is late, and looks again when it could be."""
        now = self.loop.time()
        began = now if self._since is None or self._answers_another() else self._since
        if now - began >= self.patience:
            self.transport.close()
        else:
            self._timer = self.loop.call_later(self.patience - (now - began), self._look)

    def _answers_another(self) -> bool:
        """Whether an earlier request of the connection has no answer yet: then the next one waits for us."""
        answers = self.cycle is not None and not self.cycle.response_complete
        return bool(self.pipeline) or (answers and not self._whole_head)

    def _refuse(self, status: int, message: str) -> None:
        body = json.dumps({"error": {"message": message}}).encode()
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()
