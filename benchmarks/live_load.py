"""How many decisions with rewards a second a service answers, beside a bare Starlette route that does nothing.

    python benchmarks/live_load.py [--seconds 60] [--clients 64] [--rounds 7]

Prints the ratio of both, the 99th percentile of the time of a decision, and the service's memory at start and end, and
writes them to a file. Both run all the time and are loaded in turns, a round each; the ratio is the median of those of
all rounds: the bare route alone was 40% slower in one measurement of ten seconds than in another.
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
            log_level="warning", access_log=False, proxy_headers=False, ws="none")
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


async def loaded(process, seconds, clients, ask):
    """(requests a second, seconds of processor time each) of a process; `ask` loads it until a moment, and returns how
    many requests were answered.
    """
    used, began = processor(process), time.monotonic()
    answered = await ask(began + seconds, clients)
    return answered / (time.monotonic() - began), (processor(process) - used) / answered


async def main():
    """Loads the bare route and the service in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="of the service's load, in all")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    seconds, times = options.seconds / options.rounds, []
    with tempfile.TemporaryDirectory() as name:
        write_policy(Path(name) / "policy.json")
        bare_port, port = free_port(), free_port()
        bare = answering(subprocess.Popen([sys.executable, "-c", BARE, str(bare_port)]), bare_port)
        service = started(Path(name) / "policy.json", f"sqlite:///{name}/ledger.db", port)

        async def ask_bare(until, clients):
            count = [0]
            await asyncio.gather(*(bare_requests(bare_port, until, count) for _ in range(clients)))
            return count[0]

        async def ask_service(until, clients):
            acknowledged = {}
            await asyncio.gather(*(decisions_with_rewards(port, until, acknowledged, times) for _ in range(clients)))
            return 2 * len(acknowledged)

        for process, ask in ((bare, ask_bare), (service, ask_service)):  # to warm up
            await loaded(process, 1, options.clients, ask)
        times.clear()
        before, rounds = memory(service), []
        for _ in range(options.rounds):
            of_bare = await loaded(bare, seconds, options.clients, ask_bare)
            of_service = await loaded(service, seconds, options.clients, ask_service)
            rounds.append((*of_bare, *of_service, of_bare[0] / of_service[0], of_service[1] / of_bare[1]))
            print(f"a request over a bare one: {rounds[-1][4]:.2f} in time, {rounds[-1][5]:.2f} in processor time")
        after = memory(service)
        for process in (bare, service):
            process.terminate()
            process.wait()
    bare_rate, bare_cost, rate, cost, longer, costlier = np.median(rounds, axis=0).tolist()
    slowest = 1000 * float(np.quantile(times, 0.99))
    print(
        f"bare route: {bare_rate:.0f} requests a second, {1e6 * bare_cost:.0f} microseconds of processor time each\n"
        f"service: {rate / 2:.0f} decisions with rewards a second, 99% within {slowest:.1f} ms,"
        f" memory {before:.0f} MB, then {after:.0f} MB; a request takes {longer:.2f} times the bare one,"
        f" {1e6 * cost:.0f} microseconds of processor time, {costlier:.2f} times its"
    )
    results = {
        "decisions with rewards a second": rate / 2,
        "99% of decisions within, ms": slowest,
        "memory after a second, MB": before,
        "memory at the end, MB": after,
        "requests a second of the bare route": bare_rate,
        "a request over a bare one": longer,
        "its processor time over the bare one's": costlier,
    }
    write("live load", results)


if __name__ == "__main__":
    asyncio.run(main())
