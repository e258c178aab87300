"""Ray on one machine: how much faster two workers are than one, what Ray itself costs, and what accidents change.

    python benchmarks/workers.py speed          # two workers against one, on a gradient that takes seconds
    python benchmarks/workers.py overhead       # an iteration, a task, a byte
    python benchmarks/workers.py kill [20]      # trainings while workers are killed: the same bits, or exit code 1

Each prints what it found and writes it to a file.
"""

import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tsgrad as tg
from measure import fastest, write
from ray_processes import own_workers

SECONDS = 2.5  # what the gradient takes one worker, about


def gradient(workers: tg.Workers, *, episodes: int, arms: int = 10, horizon: int = 500) -> tg.Gradient:
    """One gradient by mean/oracle, on the native engine."""
    problem = tg.GaussianBandit(arms=arms)
    estimator = tg.Estimator("mean", "oracle")
    where: dict[str, Any] = {"horizon": horizon, "episodes": episodes, "seed": 0, "engine": "native"}
    return tg.gradient(problem, tg.ReshapedThompson(problem), estimator, workers=workers, **where)


def timed(work: Callable[[], object]) -> float:
    """The seconds that a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def speed() -> dict[str, Any]:
    """One worker, two workers, and this process with its threads."""
    one, two, here = tg.RayWorkers(count=1), tg.RayWorkers(count=2), tg.LocalWorkers()
    episodes = 5120
    gradient(one, episodes=episodes)
    episodes = round(episodes * SECONDS / timed(lambda: gradient(one, episodes=episodes)))
    who = {"one worker": one, "two workers": two, "this process": here}
    seconds = fastest({name: partial(gradient, workers, episodes=episodes) for name, workers in who.items()}, repeats=4)
    same = np.array_equal(gradient(two, episodes=episodes).mean, gradient(here, episodes=episodes).mean)
    ratio = seconds["one worker"] / seconds["two workers"]
    return {"episodes": episodes, "seconds": seconds, "two workers over one": ratio, "same bits": bool(same)}


def overhead() -> dict[str, float]:
    """Seconds of an iteration that has next to nothing to compute, of a task more in it, and of a byte sent."""
    few, many = tg.RayWorkers(count=1), tg.RayWorkers(count=64)
    tasks = 64
    small = {"arms": 2, "horizon": 1}
    works: dict[str, Callable[[], object]] = {
        "here, one block": lambda: gradient(tg.LocalWorkers(), episodes=256, **small),
        "one task": lambda: gradient(few, episodes=256, **small),
        "many tasks": lambda: gradient(many, episodes=256 * tasks, **small),
        "a byte": lambda: list(few.each(len, [b"0"])),
        "many bytes": lambda: list(few.each(len, [bytes(2**26)])),
    }
    seconds = fastest(works, repeats=20)
    return {
        "an iteration": seconds["one task"] - seconds["here, one block"],
        "a task more": (seconds["many tasks"] - seconds["one task"]) / (tasks - 1),
        "a megabyte": (seconds["many bytes"] - seconds["a byte"]) / 2**6,
    }


def training(workers: tg.Workers) -> bytes:
    """Where 50 iterations end."""
    problem = tg.GaussianBandit(noise_std=[0.1, 1.0, 4.0])
    run = tg.train(
        problem,
        tg.ReshapedThompson(problem),
        tg.Estimator("mean", "self"),
        horizon=20,
        episodes=2048,
        iterations=50,
        validation_episodes=4096,
        workers=workers,
    )
    return np.array([*tg.parameter_vector(run.last), *tg.parameter_vector(run.policy), run.gain]).tobytes()


def kill(times: int) -> dict[str, Any]:
    """Trainings on two workers, one of which is killed every now and then."""
    expected, workers = training(tg.LocalWorkers()), tg.RayWorkers(count=2)
    rng, over = random.Random(0), threading.Event()
    found = {"trainings": times, "killed": 0, "other bits": 0}

    def disturb() -> None:
        while not over.wait(rng.uniform(0.2, 3.0)):
            there = own_workers()
            if there:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(there), signal.SIGKILL)
                    found["killed"] += 1

    disturber = threading.Thread(target=disturb)
    disturber.start()
    start = time.perf_counter()
    for number in range(times):
        found["other bits"] += training(workers) != expected
        print(f"{number + 1} of {times}: {found}", flush=True)
    over.set()
    disturber.join()
    return {**found, "seconds": round(time.perf_counter() - start)}


def main() -> None:
    """Measures, prints and writes."""
    what, *given = sys.argv[1:] or ["speed"]
    tg.RayWorkers(count=2)  # all that follows is on one Ray of two cores
    found = kill(int(given[0]) if given else 20) if what == "kill" else {"speed": speed, "overhead": overhead}[what]()
    print(what, found)
    write(f"workers, {what}", found)
    raise SystemExit(1 if found.get("other bits") else 0)


if __name__ == "__main__":
    main()
