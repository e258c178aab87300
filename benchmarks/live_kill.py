"""Nothing is lost: services killed at random moments under load, and the ledger held to all that was acknowledged.

    python benchmarks/live_kill.py [--kills 200] [--ledger postgresql://user@host/name] [--services 2]

Without a ledger, SQLite in a temporary folder. Services start on the same ledger again and again; each life lasts up to
a second under the load of eight clients.
"""

import argparse
import asyncio
import random
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

from live_client import decisions_with_rewards, free_port, started, write_policy
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


def main():
    """Kills, and says what is left."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--services", type=int, default=1)
    parser.add_argument("--ledger")
    options = parser.parse_args()
    random.seed(0)
    acknowledged = {}
    with tempfile.TemporaryDirectory() as name:
        policy = Path(name) / "policy.json"
        write_policy(policy)
        url = options.ledger or f"sqlite:///{name}/ledger.db"
        for _ in range(options.kills):
            asyncio.run(one_life(policy, url, options.services, acknowledged))
        ledger = Ledger(url)
        found = inspected(ledger)
        decided, paid = set(), {}
        for _, event in ledger.all_events():
            if event.kind == "decision":
                decided.add(event.decision)
            elif event.kind == "reward":
                paid[event.decision] = event.reward
        lost = sum(decision not in decided for decision in acknowledged)
        unpaid = sum(value is not None and paid.get(one) != value for one, value in acknowledged.items())
        live = Experiment(read_artefact(policy), ledger, wait=None, default=0.0, batch=1)
        same = np.array_equal(live.agent.belief[0], rebuilt(ledger).belief[0])
        rewards = sum(value is not None for value in acknowledged.values())
        print(
            f"{options.kills} kills: {len(acknowledged)} decisions and {rewards} rewards acknowledged,"
            f" {lost} and {unpaid} lost; faults {found.faults[:3]}; counts {found.counts}; beliefs agree: {same}"
        )
        ledger.close()


if __name__ == "__main__":
    main()
