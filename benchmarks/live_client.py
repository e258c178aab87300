"""A service as a process of its own, and clients that load it: what the benchmarks of live experiments share."""

import asyncio
import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

TOKEN = "a token to decide with"
POLICY = {
    "policy": {"kind": "thompson"},
    "problem": {"kind": "bernoulli", "alpha": [1.0] * 10, "beta": [1.0] * 10},
    "horizon": 1_000_000,
}


def write_policy(path):
    """A policy of ten arms."""
    from tsgrad_runtime.files import write_json

    write_json(path, "policy", POLICY, version="1")


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def started(policy, url, port):
    """The service as a process, once it answers."""
    environment = {**os.environ, "TSGRAD_TOKEN": TOKEN, "TSGRAD_ADMIN_TOKEN": "a token to rule with"}
    command = [Path(sys.executable).parent / "tsgrad", "serve", policy, "--ledger", url, "--port", str(port)]
    return answering(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL), port)


def answering(process, port):
    """A process, once it listens on a port."""
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return process
        time.sleep(0.05)
    process.kill()
    raise RuntimeError("the service did not start")


class Client:
    """One connection that stays open, with as little between it and the service as can be."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def ask(self, path, body=b"", method="POST"):
        """(status, content) of a request."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        lines = (
            f"{method} {path} HTTP/1.1",
            "host: x",
            f"authorization: Bearer {TOKEN}",
            f"content-length: {len(body)}",
        )
        head = "\r\n".join(lines) + "\r\n\r\n"
        self.writer.write(head.encode() + body)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        status = int(answer[9:12])
        length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        return status, json.loads(await self.reader.readexactly(length))

    async def close(self):
        """Hangs up."""
        if self.writer is not None:
            self.writer.close()


async def decisions_with_rewards(port, until, acknowledged, times=None):
    """Decides and reports rewards, until a moment or until the service is gone; what was acknowledged is kept."""
    client = Client(port)
    try:
        while time.monotonic() < until:
            began = time.perf_counter()
            status, decision = await client.ask("/v1/decisions")
            if times is not None:
                times.append(time.perf_counter() - began)
            if status != 201:
                continue
            acknowledged.setdefault(decision["id"], None)
            value = random.randint(0, 1)
            status, _ = await client.ask(f"/v1/decisions/{decision['id']}/reward", b'{"value": %d}' % value)
            if status == 200:
                acknowledged[decision["id"]] = value
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        await client.close()
