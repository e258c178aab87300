"""Every command that takes seconds, on inputs so small that it takes a few: what `reliability.py` disturbs."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tsgrad as tg
from tsgrad_runtime import read_artefact
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.ledger import Ledger

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
SWEEP = """
[problem]
kind = "bernoulli"

[training]
horizon = 10
episodes = 512
iterations = 20
validation_episodes = 4096

[axes]
"training.horizon" = [10, 20]
"problem.arms" = [2, 5]
"problem.alpha" = [0.5, 1.0]
"""
FRACTION = "0.001"  # of a reproduction
DECISIONS = 3000  # in the log and in the ledger
ARMS = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}  # and how often each is rewarded there


class Work(NamedTuple):
    """The command that begins something in a folder, and the one that continues it once a file is there, if any can."""

    first: Callable[[Path], list[str]]
    again: Callable[[Path], list[str]] | None = None
    begun: str = "nothing"

    def next(self, folder: Path) -> list[str]:
        """The command that comes next, by what is there already."""
        return (self.again if self.again and (folder / self.begun).exists() else self.first)(folder)


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


def works(home: Path) -> dict[str, Work]:
    """What can be disturbed, by name; what it needs is made in a folder."""
    configuration, swept = home / "config.toml", home / "sweep.toml"
    trained, deployed, log, policy = home / "trained", home / "deployed", home / "log.csv", home / "policy.json"
    ledger = f"sqlite:///{home}/ledger.db"
    configuration.write_text(CONFIGURATION)
    swept.write_text(SWEEP)
    run(command("train", configuration, "--out", trained, "--no-report"))
    _play(policy, ledger)
    run(command("ledger", "export", ledger, "--out", log))
    short: dict[str, Any] = {"horizon": 40, "episodes": 256, "iterations": 1, "validation_episodes": 2048}
    tg.train(tg.BernoulliBandit(arms=len(ARMS)), out=deployed, **short)

    def report(folder: Path) -> list[str]:
        shutil.copytree(trained, folder, dirs_exist_ok=True)
        return command("report", folder, "--no-rivals", "--no-robustness", "--episodes", 2000)

    def retune(folder: Path) -> list[str]:
        return command("retune", deployed, "--ledger", ledger, "--out", folder / "next", "--iterations", 20)

    columns = ("--arm", "arm", "--reward", "reward")
    rivals = ("uniform", "top-two-thompson", "--episodes", 2000)
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
        "retune": Work(retune, retune, "next/config.toml"),
        "report": Work(report),
        "compare": Work(
            lambda folder: command("compare", configuration, *rivals, "--csv", folder / "a.csv", "--json", folder / "a")
        ),
        "variance": Work(lambda folder: command("variance", configuration, "mean/self", "--episodes", 512)),
        "robustness": Work(lambda folder: command("robustness", trained, "--episodes", 256)),
        "fit": Work(
            lambda folder: command("fit", log, *columns, "--out", folder / "a.toml", "--picture", folder / "a.png")
        ),
        "evaluate": Work(lambda folder: command("evaluate", log, "--policy", policy, "--replays", 20)),
        "ledger export": Work(lambda folder: command("ledger", "export", ledger, "--out", folder / "log.parquet")),
        "ledger check": Work(lambda folder: command("ledger", "check", ledger)),
        "engines": Work(lambda folder: command("engines")),
    }


def _play(policy: Path, url: str) -> None:
    """A policy that plays all arms alike, and the ledger of its experiment."""
    tg.write_policy(
        policy, tg.Uniform(), problem=tg.BernoulliBandit(arms=len(ARMS)), horizon=DECISIONS, arms=list(ARMS)
    )
    ledger = Ledger(url)
    experiment, generator = Experiment(read_artefact(policy), ledger), np.random.default_rng(0)
    name, arms = experiment.agent.artefact.name, generator.choice(list(ARMS), DECISIONS)
    paid = (generator.random(DECISIONS) < [ARMS[arm] for arm in arms]).astype(float)
    experiment.append(
        [Event("decision", 1.0, str(number), str(arm), 0.25, policy=name) for number, arm in enumerate(arms)]
    )
    experiment.append([Event("reward", 2.0, str(number), reward=float(reward)) for number, reward in enumerate(paid)])
    ledger.close()
