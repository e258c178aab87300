"""Nothing is lost: services killed at random moments under load, and the ledger held to all that was acknowledged.

    python benchmarks/live_kill.py [--kills 67] [--ledger sqlite postgresql shared]

Three ledgers in turn: SQLite, PostgreSQL (a server of its own is started), and one in PostgreSQL that two services
share. Services start on the same ledger again and again; each life lasts up to a second under the load of eight clients
a service. Prints what is left of what was acknowledged, and writes it to a file.
"""

import argparse
import asyncio
import contextlib
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from live_client import decisions_with_rewards, free_port, started, write_policy
from live_postgresql import postgresql_server
from measure import write
from tsgrad_runtime.artefact import read_artefact
from tsgrad_runtime.experiment import Experiment, rebuilt
from tsgrad_runtime.inspection import inspected
from tsgrad_runtime.ledger import Ledger


async def life(ports, seconds, acknowledged):
    """Clients of all services, until these are gone."""
    until = time.monotonic() + seconds
    await asyncio.gather(*(decisions_with_rewards(port, until, acknowledged) for port in ports for _ in range(8)))


async def one_life(policy, url, services, acknowledged):
    """Starts services, loads them, and kills them at a random moment."""
    ports = [free_port() for _ in range(services)]
    processes = [started(policy, url, port) for port in ports]
    load = asyncio.create_task(life(ports, 30, acknowledged))
    await asyncio.sleep(random.uniform(0.05, 1.0))
    for process in processes:
        process.send_signal(signal.SIGKILL)
    for process in processes:
        process.wait()
    await load


def inspection(policy, url, kills, acknowledged):
    """What is left of all that was acknowledged."""
    ledger = Ledger(url)
    found = inspected(ledger)
    decided, paid, counted = set(), {}, 0
    for _, event in ledger.all_events():
        if event.kind == "decision":
            decided.add(event.decision)
        elif event.kind == "reward":
            paid[event.decision] = event.reward
            counted += 1
    lost = sum(decision not in decided for decision in acknowledged)
    unpaid = sum(value is not None and paid.get(one) != value for one, value in acknowledged.items())
    live = Experiment(read_artefact(policy), ledger, wait=None, default=0.0, batch=None)
    same = np.array_equal(live.agent.belief[0], rebuilt(ledger).belief[0])
    ledger.close()
    return {
        "kills": kills,
        "decisions acknowledged": len(acknowledged),
        "decisions lost": lost,
        "rewards acknowledged": sum(value is not None for value in acknowledged.values()),
        "rewards lost": unpaid,
        "counted twice": counted - len(paid),
        "faults": len(found.faults),
        "beliefs agree bit for bit": bool(same),
    }


def killed(policy, url, services, kills):
    """Lives and deaths on one ledger, and what is left of it."""
    acknowledged = {}
    for _ in range(-(-kills // services)):  # every service of a life is killed
        asyncio.run(one_life(policy, url, services, acknowledged))
    return inspection(policy, url, services * -(-kills // services), acknowledged)


def main():
    """Kills, and says what is left."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=67, help="of each ledger")
    parser.add_argument(
        "--ledger", nargs="+", choices=("sqlite", "postgresql", "shared"), default=["sqlite", "postgresql", "shared"]
    )
    options = parser.parse_args()
    random.seed(0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no server is left behind
    with tempfile.TemporaryDirectory() as name:
        policy = Path(name) / "policy.json"
        write_policy(policy)
        results = {}
        for kind in options.ledger:
            folder = Path(name) / kind
            folder.mkdir()
            with contextlib.ExitStack() as stack:
                url = f"sqlite:///{folder}/ledger.db"
                if kind != "sqlite":
                    url = stack.enter_context(postgresql_server(folder))
                said = {"shared": "two services on one PostgreSQL"}.get(kind, kind)
                results[said] = killed(policy, url, 2 if kind == "shared" else 1, options.kills)
                print(f"{said}: {results[said]}", flush=True)
        write("live kills", results)


if __name__ == "__main__":
    main()
