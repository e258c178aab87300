"""What is left of work that was raced, killed or interrupted: the same files, whatever the moment.

    python benchmarks/reliability.py race [400]        # starts at the same moment in one folder: one winner each
    python benchmarks/reliability.py kill [100]        # SIGKILL while training, resuming, reproducing, reporting
    python benchmarks/reliability.py interrupt [50]    # SIGINT at so many moments of every command

Moments are drawn at random, from a fixed seed, over the time that the command takes by itself. Each prints what it
found and writes it to a file; anything that is not as it must be is printed, and ends the program with exit code 1.
"""

import hashlib
import multiprocessing
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from measure import write

CONFIGURATION = """
[problem]
kind = "gaussian"
noise_std = [0.1, 1.0, 4.0]

[estimator]
metric = "mean"
baseline = "oracle"

[training]
horizon = 20
episodes = 512
iterations = 100
check_every = 10
validation_episodes = 4096
"""
FRACTION = "0.001"
RACERS = 4
SWEEP = """
[problem]
kind = "bernoulli"

[training]
horizon = 10
episodes = 512
iterations = 20
validation_episodes = 4096

[axes]
"training.horizon" = [10, 20, 30]
"problem.arms" = [2, 5, 10]
"problem.alpha" = [0.5, 1.0]
"""
KILLS = {"train, resume": 0.57, "reproduce": 0.2, "report": 0.2, "sweep": 0.03}  # shares of all


def command(*arguments: Any) -> list[str]:
    """A command of tsgrad."""
    return [sys.executable, "-m", "tsgrad", *map(str, arguments)]


def run(arguments: list[str]) -> float:
    """Runs a command to its end; gives back how long it took."""
    began = time.monotonic()
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed: {done.stderr}")
    return time.monotonic() - began


def stopped(arguments: list[str], moment: float, number: signal.Signals) -> tuple[int, str]:
    """Runs a command and sends it a signal after so many seconds, if it is still there: exit code and errors."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, errors = process.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        _, errors = process.communicate()
    return process.returncode, errors


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


class Work(NamedTuple):
    """The command that begins something, the one that continues it, and the file that tells which comes next."""

    first: Callable[[Path], list[str]]
    again: Callable[[Path], list[str]]
    begun: str = "nothing"

    def next(self, folder: Path) -> list[str]:
        """The command that comes next, by what is there already."""
        return (self.again if (folder / self.begun).exists() else self.first)(folder)


def works(home: Path) -> dict[str, Work]:
    """What can be disturbed, by name."""
    configuration, swept, trained = home / "config.toml", home / "sweep.toml", home / "trained"
    configuration.write_text(CONFIGURATION)
    swept.write_text(SWEEP)
    run(command("train", configuration, "--out", trained, "--no-report"))

    def report(folder: Path) -> list[str]:
        shutil.copytree(trained, folder, dirs_exist_ok=True)
        return command("report", folder, "--no-rivals", "--episodes", 2000)

    def compare(folder: Path) -> list[str]:
        rivals = ("uniform", "top-two-thompson", "--episodes", 2000)
        return command("compare", configuration, *rivals, "--csv", folder / "table.csv")

    def variance(folder: Path) -> list[str]:
        return command("variance", configuration, "mean/self", "--episodes", 512)

    def engines(folder: Path) -> list[str]:
        return command("engines")

    return {
        "train, resume": Work(
            lambda folder: command("train", configuration, "--out", folder, "--no-report"),
            lambda folder: command("resume", folder, "--no-report"),
            "config.toml",
        ),
        "reproduce": Work(
            lambda folder: command("reproduce", "many", "--out", folder, "--fraction", FRACTION),
            lambda folder: command("reproduce", "many", "--out", folder, "--resume"),
            "many/plan.json",
        ),
        "sweep": Work(
            lambda folder: command("sweep", swept, "--out", folder),
            lambda folder: command("sweep", swept, "--out", folder, "--resume"),
            "sweep.toml",
        ),
        "report": Work(report, report),
        "compare": Work(compare, compare),
        "variance": Work(variance, variance),
        "engines": Work(engines, engines),
    }


def disturbed(home: Path, name: str, work: Work, times: int, number: signal.Signals) -> dict[str, Any]:
    """Stops a work again and again, so many times in all; whenever it is done, files are compared."""
    whole, folder = home / f"whole {name}", home / f"disturbed {name}"
    whole.mkdir()
    usual = run(work.next(whole))
    expected, rng = files(whole), random.Random(f"{name} {number}")
    # Before Python is up, SIGINT itself ends the process: -2 here, 130 in a shell.
    codes = (130, -number) if number is signal.SIGINT else (-number,)
    count = {"stopped": 0, "done in between": 0, "other files": 0, "wrong exit code": 0, "traceback": 0}
    while count["stopped"] < times:
        folder.mkdir(exist_ok=True)
        code, errors = stopped(work.next(folder), rng.uniform(0.05, 1.3 * usual), number)
        count["traceback"] += "Traceback" in errors
        if code == 0:
            count["done in between"] += 1
        else:
            count["stopped"] += 1
            count["wrong exit code"] += code not in codes
            if count["stopped"] < times:
                continue
            run(work.next(folder))
        found = files(folder)
        count["other files"] += found != expected
        for path in sorted(expected.keys() | found.keys()):
            if expected.get(path) != found.get(path):
                print(f"{name}: {path} is not as it was")
        shutil.rmtree(folder)
    return {"seconds": round(usual, 1), **count}


def main() -> None:
    """Disturbs, prints and writes."""
    what, *given = sys.argv[1:] or ["race"]
    found: dict[str, Any] = {}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if what == "race":
            found = race(home, int(given[0]) if given else 400)
            wrong = found["starts"] - found["one winner"]
            print(found)
        else:
            number = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT}[what]
            total = int(given[0]) if given else {"kill": 100, "interrupt": 50}[what]
            chosen = works(home)
            for name, share in (KILLS if what == "kill" else dict.fromkeys(chosen, 1.0)).items():
                found[name] = disturbed(home, name, chosen[name], round(share * total), number)
                wrong += sum(found[name][key] for key in ("other files", "wrong exit code", "traceback"))
                print(name, found[name], flush=True)
    write(f"reliability, {what}", found)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
