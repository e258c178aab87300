"""Ray on one machine: how much faster two workers are than one, what Ray itself costs, and what accidents change.

    python benchmarks/workers.py speed          # two workers against one, on a gradient that takes seconds
    python benchmarks/workers.py overhead       # an iteration, a task, a byte
    python benchmarks/workers.py scale          # time to train with more cores than there are here, on paper
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
from typing import Any, NamedTuple

import numpy as np

import tsgrad as tg
from measure import fastest, write
from ray_processes import own_workers
from tsgrad.training.configuration import default_estimator, default_policy

SECONDS = 2.5  # what the gradient takes one worker, about
ITERATIONS, KILLS = 50, 2  # of a training, and how many workers it loses


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


class Size(NamedTuple):
    """A problem to train on, with the batch of an iteration in blocks of 256 episodes."""

    problem: Any
    horizon: int
    blocks: int
    iterations: int = 100

    def gradient(self, workers: tg.Workers, blocks: int) -> tg.Gradient:
        """What an iteration of the default training computes, for so many blocks."""
        policy, estimator = default_policy(self.problem), default_estimator(self.problem)
        where: dict[str, Any] = {"horizon": self.horizon, "episodes": 256 * blocks, "seed": 0, "fisher": True}
        return tg.gradient(self.problem, policy, estimator, workers=workers, **where)


SIZES = {
    "small: 5 arms, 50 steps, native": Size(tg.GaussianBandit(noise_std=[0.1, 0.4, 1.0, 4.0, 10.0]), 50, blocks=4),
    "middle: 10 arms, 500 steps, native": Size(tg.GaussianBandit(arms=10), 500, blocks=64),
    "large: 10 arms with contexts, 50 steps, jax": Size(
        tg.LinearBandit(features=tg.GaussianContexts(arms=10, dimension=5)), 50, blocks=1024
    ),
}
CORES = (1, 10, 100, 1000)


def scale() -> dict[str, Any]:
    """For each size the seconds of a block on one core, and from them and Ray's costs the seconds of a training.

    An iteration takes what the busiest worker computes, what Ray takes for it, and what Ray takes for a task, of which
    there are as many as workers with something to do; that is least with `best` cores.
    """
    costs, one = overhead(), tg.RayWorkers(count=1)
    found: dict[str, Any] = {}
    for name, size in SIZES.items():
        seconds = fastest({str(blocks): partial(size.gradient, one, blocks) for blocks in (1, 3)}, repeats=3)
        block = (seconds["3"] - seconds["1"]) / 2

        def training_seconds(cores: int, size: Size = size, block: float = block) -> float:
            tasks = min(cores, size.blocks)
            each = -(-size.blocks // tasks) * block
            return size.iterations * (each + costs["an iteration"] + costs["a task more"] * (tasks - 1))

        best = min(range(1, size.blocks + 1), key=training_seconds)
        found[name] = {
            "a block": block,
            "without Ray": size.iterations * size.blocks * block,
            **{f"{cores} cores": training_seconds(cores) for cores in CORES},
            "best": best,
            "then": training_seconds(best),
        }
        print(name, found[name], flush=True)
    return {"costs": costs, "sizes": found}


def training(workers: tg.Workers, progress: Callable[[int], object] | None = None) -> bytes:
    """Where 50 iterations end."""
    problem = tg.GaussianBandit(noise_std=[0.1, 1.0, 4.0])
    run = tg.train(
        problem,
        tg.ReshapedThompson(problem),
        tg.Estimator("mean", "self"),
        horizon=20,
        episodes=2048,
        iterations=ITERATIONS,
        validation_episodes=4096,
        workers=workers,
        progress=progress,
    )
    return np.array([*tg.parameter_vector(run.last), *tg.parameter_vector(run.trained), run.gain]).tobytes()


def kill(times: int) -> dict[str, Any]:
    """Trainings on two workers, one of which is killed at random moments of random iterations."""
    expected, workers, rng = training(tg.LocalWorkers()), tg.RayWorkers(count=2), random.Random(0)
    found = {"trainings": times, "killed": 0, "other bits": 0}

    def kill_one() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rng.choice(own_workers()), signal.SIGKILL)
            found["killed"] += 1

    start = time.perf_counter()
    for number in range(times):
        moments = {rng.randrange(1, ITERATIONS): rng.uniform(0.0, 0.05) for _ in range(KILLS)}

        def disturb(iteration: int, moments: dict[int, float] = moments) -> None:
            if iteration in moments:
                threading.Timer(moments[iteration], kill_one).start()

        found["other bits"] += training(workers, disturb) != expected
        print(f"{number + 1} of {times}: {found}", flush=True)
    return {**found, "seconds": round(time.perf_counter() - start)}


WORKS = {"speed": speed, "overhead": overhead, "scale": scale}


def main() -> None:
    """Measures, prints and writes."""
    what, *given = sys.argv[1:] or ["speed"]
    tg.RayWorkers(count=2)  # all that follows is on one Ray of two cores
    found = kill(int(given[0]) if given else 20) if what == "kill" else WORKS[what]()
    print(what, found)
    write(f"workers, {what}", found)
    raise SystemExit(1 if found.get("other bits") else 0)


if __name__ == "__main__":
    main()
