"""What is left of work that was raced, killed or interrupted: the same files, whatever the moment.

    python benchmarks/reliability.py race [400]                # starts at one moment in one folder: one winner each
    python benchmarks/reliability.py kill [100] [COMMAND ...]  # SIGKILL while training, reproducing, reporting, ...
    python benchmarks/reliability.py interrupt [50] [COMMAND ...]  # SIGINT at so many moments of every command

Moments are drawn at random, from a fixed seed, over the time that the command takes by itself. A command that was
stopped is run again, or resumed, until it is done: its files must be those of one never stopped. What one that can't be
resumed leaves behind must be whole at every stop, and what a service acknowledged must be in its ledger. Each prints
what it found and writes it to a file; anything that is not as it must be ends the program with exit code 1.
"""

import asyncio
import hashlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from live_client import TOKEN, decisions_with_rewards, free_port, write_policy
from measure import write
from small_commands import CONFIGURATION, Work, command, run, works
from tsgrad.artefact import TEMPORARY

RACERS = 4
LIFE = 3.0  # seconds that a service may have before it is stopped
PATIENCE = 60  # seconds until a command that was told to stop counts as hanging
WRONG = ("other files", "wrong exit code", "traceback", "lost", "faults")
KILLS = {"train, resume": 0.57, "reproduce": 0.2, "report": 0.2, "sweep": 0.03}  # shares of all


def stopped(arguments: list[str], moment: float, number: signal.Signals) -> tuple[int, str, float]:
    """Runs a command and sends it a signal after so many seconds, if it is still there: exit code, errors, and how long
    it took to end.
    """
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, errors = process.communicate(timeout=moment)
        return process.returncode, errors, 0.0
    except subprocess.TimeoutExpired:
        return ended(process, number)


def ended(process: Any, number: signal.Signals) -> tuple[int, str, float]:
    """Sends a process a signal: its exit code, errors, and how long it took to end."""
    process.send_signal(number)
    began = time.monotonic()
    try:
        _, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        _, errors = process.communicate()
    return process.returncode, errors, time.monotonic() - began


def exit_codes(number: signal.Signals) -> tuple[int, ...]:
    """What a command that got a signal may end with."""
    # Before Python is up, SIGINT itself ends the process: -2 here, 130 in a shell.
    return (130, -number) if number is signal.SIGINT else (-number,)


def files(folder: Path) -> dict[str, str]:
    """What is in a folder, but for what depends on the clock."""
    from tsgrad.report import without_clock

    def content(path: Path) -> bytes:
        return without_clock(path.read_text()).encode() if path.suffix == ".html" else path.read_bytes()

    return {
        str(path.relative_to(folder)): hashlib.sha256(content(path)).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "timing.json"
    }


def _racer(folder: Path, rounds: int, barrier: Any, winners: Any) -> None:
    from tsgrad import BadInput
    from tsgrad.training import RunFolder, read_configuration

    configuration = read_configuration(folder / "config.toml")
    provenance = {"version": "0", "engine": "native", "seed": 0}
    for number in range(rounds):
        barrier.wait()
        try:
            RunFolder(folder / str(number)).start(configuration, provenance)
        except BadInput:
            continue
        winners.put(number)


def race(folder: Path, rounds: int) -> dict[str, Any]:
    """How often exactly one of several processes got a folder that all wanted at the same moment."""
    (folder / "config.toml").write_text(CONFIGURATION)
    context = multiprocessing.get_context("spawn")
    barrier, winners = context.Barrier(RACERS), context.Queue()
    racers = [context.Process(target=_racer, args=(folder, rounds, barrier, winners)) for _ in range(RACERS)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    won = [winners.get() for _ in range(winners.qsize())]
    return {"starts": rounds, "racers": RACERS, "one winner": sum(won.count(number) == 1 for number in range(rounds))}


def disturbed(home: Path, name: str, work: Work, times: int, number: signal.Signals) -> dict[str, Any]:
    """Stops a work again and again, so many times in all; whenever it is done, files are compared."""
    whole, folder = home / f"whole {name}", home / f"disturbed {name}"
    whole.mkdir()
    usual = run(work.next(whole))
    expected, rng = files(whole), random.Random(f"{name} {number}")
    longest = usual / 2 if work.again else usual  # what is resumed is shorter every time
    count = {"stopped": 0, "done in between": 0, "other files": 0, "wrong exit code": 0, "traceback": 0}
    slowest = 0.0
    while count["stopped"] < times:
        folder.mkdir(exist_ok=True)
        code, errors, seconds = stopped(work.next(folder), rng.uniform(0.05, longest), number)
        slowest = max(slowest, seconds)
        count["traceback"] += "Traceback" in errors
        count["done in between" if code == 0 else "stopped"] += 1
        if code and code not in exit_codes(number):
            count["wrong exit code"] += 1
            print(f"{name}: exit code {code}: {errors}")
        last = count["stopped"] == times
        if code and work.again and not last:
            continue
        if code and last:
            run(work.next(folder))
        found = files(folder)
        if code and not last:  # what is there must be whole
            found = {**expected, **{path: hashed for path, hashed in found.items() if not path.endswith(TEMPORARY)}}
        count["other files"] += found != expected
        for path in sorted(expected.keys() | found.keys()):
            if expected.get(path) != found.get(path):
                print(f"{name}: {path} is not as it was")
        shutil.rmtree(folder)
    return {"seconds": round(usual, 1), **count, "seconds to end, at most": round(slowest, 1)}


def served(home: Path, times: int, number: signal.Signals) -> dict[str, Any]:
    """Stops services at moments of their start and their life, under the load of four clients, on one ledger."""
    from tsgrad_runtime.inspection import inspected
    from tsgrad_runtime.ledger import Ledger

    policy, url, rng = home / "served.json", f"sqlite:///{home}/served.db", random.Random(f"serve {number}")
    write_policy(policy)
    acknowledged: dict[str, int | None] = {}
    count = {"stopped": 0, "wrong exit code": 0, "traceback": 0}
    slowest = 0.0
    for _ in range(times):
        port, life = free_port(), rng.uniform(0.05, LIFE)
        process = subprocess.Popen(
            command("serve", policy, "--ledger", url, "--port", port),
            env={**os.environ, "TSGRAD_TOKEN": TOKEN},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        code, errors, seconds = asyncio.run(_lived(process, port, life, number, acknowledged))
        slowest = max(slowest, seconds)
        count["stopped"] += 1
        count["traceback"] += "Traceback" in errors
        if code not in exit_codes(number):
            count["wrong exit code"] += 1
            print(f"serve: exit code {code}: {errors}")
    ledger = Ledger(url)
    found = inspected(ledger)
    events = [event for _, event in ledger.all_events()]
    ledger.close()
    kept = {event.decision: None for event in events if event.kind == "decision"}
    kept |= {event.decision: event.reward for event in events if event.kind == "reward"}
    lost = sum(kept.get(decision, "lost") != reward for decision, reward in acknowledged.items() if reward is not None)
    return {
        "seconds": LIFE,
        **count,
        "seconds to end, at most": round(slowest, 1),
        "acknowledged": len(acknowledged),
        "lost": lost + sum(decision not in kept for decision in acknowledged),
        "faults": len(found.faults),
    }


async def _lived(process: Any, port: int, seconds: float, number: signal.Signals, acknowledged: Any) -> Any:
    """A service's life: four clients ask it as soon as it answers, and are at it still while it ends."""

    async def client() -> None:
        while True:
            await decisions_with_rewards(port, time.monotonic() + PATIENCE, acknowledged)
            await asyncio.sleep(0.05)

    clients = [asyncio.create_task(client()) for _ in range(4)]
    await asyncio.sleep(seconds)
    end = await asyncio.to_thread(ended, process, number)
    for one in clients:
        one.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    return end


def main() -> None:
    """Disturbs, prints and writes."""
    what, *given = sys.argv[1:] or ["race"]
    times = int(given.pop(0)) if given and given[0].isdigit() else {"race": 400, "kill": 100, "interrupt": 50}[what]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if what == "race":
            found = race(home, times)
            wrong = found["starts"] - found["one winner"]
            print(found)
            write("reliability, race", found)
        else:
            number = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT}[what]
            chosen = works(home)
            shares = KILLS if what == "kill" else dict.fromkeys([*chosen, "serve"], 1.0)
            for name in given or shares:
                often = round(shares[name] * times)
                found = (
                    served(home, often, number)
                    if name == "serve"
                    else disturbed(home, name, chosen[name], often, number)
                )
                wrong += sum(found.get(key, 0) for key in WRONG)
                print(name, found, flush=True)
                write(f"reliability, {what}, {name}", found)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
