"""How many decisions with rewards a second a service answers, beside a bare Starlette route that does nothing.

    python benchmarks/live_load.py [--seconds 60] [--clients 64]

Prints the ratio of both, the 99th percentile of the time of a decision, and the service's memory at start and end, and
writes them to a file. The bare route is asked before and after the service, and the faster of both counts: in one
measurement of ten seconds it was 40% slower than in another.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from live_client import Client, answering, decisions_with_rewards, free_port, started, write_policy
from measure import write

BARE = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
async def nothing(request):
    await request.body()
    return JSONResponse({"id": "x", "arm": "1", "propensity": 0.1}, 201)
uvicorn.run(Starlette(routes=[Route("/{rest:path}", nothing, methods=["POST"])]), port=int(sys.argv[1]),
            log_level="warning", access_log=False)
"""


def memory(process):
    """Megabytes that a process has."""
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096 / 2**20


def processor(process):
    """Seconds of processor time that a process has used, whatever else runs on the machine."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def bare_requests(port, until, count):
    """Asks the bare route as often as it answers."""
    client = Client(port)
    while time.monotonic() < until:
        await client.ask("/v1/decisions")
        count[0] += 1
    await client.close()


async def bare_route(seconds, clients):
    """(requests a second, seconds of processor time each) of the bare route."""
    port = free_port()
    bare = answering(subprocess.Popen([sys.executable, "-c", BARE, str(port)]), port)
    count = [0]
    until, used = time.monotonic() + seconds, processor(bare)
    await asyncio.gather(*(bare_requests(port, until, count) for _ in range(clients)))
    cost = (processor(bare) - used) / count[0]
    bare.terminate()
    bare.wait()
    print(
        f"bare route: {count[0] / seconds:.0f} requests a second, {1e6 * cost:.0f} microseconds of processor time each"
    )
    return count[0] / seconds, cost


async def main():
    """Loads the bare route, the service, and the bare route again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=64)
    options = parser.parse_args()
    bare_seconds = min(options.seconds, 10)
    before_it = await bare_route(bare_seconds, options.clients)
    with tempfile.TemporaryDirectory() as name:
        write_policy(Path(name) / "policy.json")
        port = free_port()
        service = started(Path(name) / "policy.json", f"sqlite:///{name}/ledger.db", port)
        acknowledged, times = {}, []
        await asyncio.gather(
            *(decisions_with_rewards(port, time.monotonic() + 1, {}, []) for _ in range(options.clients))
        )
        before = memory(service)
        until, used = time.monotonic() + options.seconds, processor(service)
        await asyncio.gather(
            *(decisions_with_rewards(port, until, acknowledged, times) for _ in range(options.clients))
        )
        after, cost = memory(service), (processor(service) - used) / (2 * len(acknowledged))
        service.terminate()
        service.wait()
    after_it = await bare_route(bare_seconds, options.clients)
    bare_rate, bare_cost = max(before_it[0], after_it[0]), min(before_it[1], after_it[1])
    rate, slowest = len(acknowledged) / options.seconds, 1000 * float(np.quantile(times, 0.99))
    print(
        f"service: {rate:.0f} decisions with rewards a second, 99% within {slowest:.1f} ms,"
        f" memory {before:.0f} MB, then {after:.0f} MB; a request takes {bare_rate / (2 * rate):.2f} times the bare"
        f" one, {1e6 * cost:.0f} microseconds of processor time, {cost / bare_cost:.2f} times its"
    )
    results = {
        "decisions with rewards a second": rate,
        "99% of decisions within, ms": slowest,
        "memory after a second, MB": before,
        "memory at the end, MB": after,
        "requests a second of the bare route": bare_rate,
        "a request over a bare one": bare_rate / (2 * rate),
        "its processor time over the bare one's": cost / bare_cost,
    }
    write("live load", results)


if __name__ == "__main__":
    asyncio.run(main())
