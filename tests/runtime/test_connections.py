"""What comes over a connection before any token: heads without an end, requests that never arrive, too many of them."""

import contextlib
import socket
import threading
import time

import pytest
import uvicorn

from tsgrad_runtime.connections import MOST_HEAD, GuardedProtocol

HEAD = b"POST / HTTP/1.1\r\nhost: x\r\n"


async def echo(scope, receive, send):
    """Answers with the length of what was sent."""
    length, more = 0, True
    while more:
        message = await receive()
        length, more = length + len(message.get("body", b"")), message.get("more_body", False)
    text = str(length).encode()
    headers = [(b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": text})


class Hasty(GuardedProtocol):
    """With less patience than a test."""

    patience = 0.3


@contextlib.contextmanager
def served(protocol, **options):
    """The port of a server in a thread."""
    config = uvicorn.Config(echo, port=0, http=protocol, lifespan="off", log_level="error", **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def port():
    with served(GuardedProtocol, limit_concurrency=20) as opened:
        yield opened


@pytest.fixture(scope="module")
def hasty():
    with served(Hasty) as opened:
        yield opened


def connected(port):
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def received(client, wanted=None):
    """All that comes until the server closes the connection, or until `wanted` has."""
    text = b""
    with contextlib.suppress(ConnectionError):
        while (wanted is None or wanted not in text) and (part := client.recv(2**16)):
            text += part
    return text


@pytest.mark.parametrize("block", [b"x-large: " + b"a" * 2**20, b"h: v\r\n" * 2**17, b"\r\n" * 2**19])
def test_a_head_without_an_end_is_refused_before_it_is_kept(port, block):
    with connected(port) as client:
        with contextlib.suppress(ConnectionError):
            client.sendall((b"" if block.startswith(b"\r") else HEAD) + block)
        answer = received(client)
    assert b"431" in answer[:20] or not answer  # a client that still sends may lose the answer with the connection


def test_a_head_that_comes_in_small_parts_is_counted(port):
    with connected(port) as client:
        client.sendall(HEAD)
        for _ in range(MOST_HEAD // 4096):
            client.sendall(b"h: " + b"v" * 4091 + b"\r\n")
        answer = received(client)
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b'{"error": {"message": "headers must be at most 32768 bytes"}}' in answer


def test_bodies_and_requests_that_come_at_once_are_no_heads(port):
    """Bodies, and many small requests in one read, are longer together than a head may be."""
    body = b"a" * 60_000
    whole = HEAD + b"content-length: 60000\r\n\r\n" + body
    small = HEAD + b"x: " + b"y" * 900 + b"\r\ncontent-length: 3\r\n\r\nabc"
    last = HEAD + b"content-length: 2\r\nconnection: close\r\n\r\nab"
    with connected(port) as client:
        for part in (whole + HEAD, b"content-length: 1\r\n\r\na", small * 90 + last[:40], last[40:]):
            client.sendall(part)
            time.sleep(0.05)
        answer = received(client)
    assert answer.count(b"HTTP/1.1 200 OK") == 93
    assert answer.endswith(b"2")


@pytest.mark.parametrize(
    ("sent", "answers"),
    [
        (b"", 0),
        (b"\r\n", 0),
        (HEAD, 0),
        (HEAD + b"content-length: 10\r\n\r\nhalf", 0),
        (HEAD + b"content-length: 1\r\n\r\na" + HEAD, 1),
    ],
)
def test_a_request_that_does_not_arrive_is_given_up(hasty, sent, answers):
    with connected(hasty) as client:
        client.sendall(sent)
        assert received(client).count(b"200 OK") == answers


def test_a_trickle_is_given_up_too(hasty):
    def trickle(client):
        client.sendall(HEAD)
        for _ in range(600):
            client.sendall(b"h: v\r\n")
            time.sleep(0.05)

    with connected(hasty) as client, pytest.raises(ConnectionError):
        trickle(client)


def test_a_connection_that_is_used_stays(hasty):
    with connected(hasty) as client:
        for _ in range(10):
            client.sendall(HEAD + b"content-length: 4\r\n\r\nhalf")
            assert received(client, b"\r\n\r\n4").startswith(b"HTTP/1.1 200 OK")
            time.sleep(0.1)


def test_too_many_connections_are_refused_and_those_that_are_there_go_on(port):
    with contextlib.ExitStack() as opened:
        clients = [opened.enter_context(connected(port)) for _ in range(40)]
        assert received(clients[-1]).startswith(b"HTTP/1.1 503 ")
        clients[0].sendall(HEAD + b"content-length: 4\r\n\r\nhalf")
        assert received(clients[0], b"\r\n\r\n4").startswith(b"HTTP/1.1 200 OK")


def test_what_is_no_http_is_refused_in_json(port):
    with connected(port) as client:
        client.sendall(b"nothing of the kind\r\n\r\n")
        assert b'{"error": ' in received(client)
