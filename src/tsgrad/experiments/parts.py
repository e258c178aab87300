"""The parts of a reproduction: trainings, evaluations, a bound. Each leaves files, and is done once they are there."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tsgrad.artefact import read_json, write_json
from tsgrad.estimate import Estimator
from tsgrad.evaluate import regret_bound
from tsgrad.experiments.evaluations import evaluate, read_evaluation
from tsgrad.experiments.plan import STABLE, Plan
from tsgrad.experiments.rivals import RIVALS
from tsgrad.policies import Policy, ReshapedThompson, load
from tsgrad.training import RunFolder, resume, train

Tell = Callable[[float], object]  # the share of a part that is done

BOUND_EPISODES = 4096
SELECTED = " (selected)"


class Part(NamedTuple):
    """A piece of work with a name, about how much of it there is (draws of an arm), and whether it is done."""

    name: str
    effort: float
    is_done: Callable[[], bool]
    work: Callable[[Tell], None]


def file_name(name: str) -> str:
    """A name as a file's.

    >>> file_name("mean/self (selected)")
    'mean-self-selected'
    """
    return "-".join("".join(letter if letter.isalnum() else " " for letter in name).split())


def run_folder(folder: Path, training: str) -> Path:
    """Where a training's run is."""
    return folder / "runs" / file_name(training)


def evaluation_file(folder: Path, row: str) -> Path:
    """Where a row's evaluation is."""
    return folder / "evaluations" / f"{file_name(row)}.npz"


def parts(plan: Plan, folder: Path) -> list[Part]:
    """All of them, in order."""
    draws = plan.setting.horizon * plan.setting.arms
    listed = [_training(plan, folder, name) for name in plan.trainings]
    for name in plan.trainings:
        for row, file in ((name, "last.json"), (name + SELECTED, "policy.json")):
            listed.append(_evaluation(plan, folder, row, partial(load, run_folder(folder, name) / file), 1.0))
    for row, rival in RIVALS.items():
        listed.append(_evaluation(plan, folder, row, rival.build, rival.effort))
    listed.append(
        Part(
            "bound",
            BOUND_EPISODES * draws * plan.setting.horizon / 10,
            (folder / "bound.json").exists,
            lambda tell: _write_bound(plan, folder),
        )
    )
    return listed


def _training(plan: Plan, folder: Path, name: str) -> Part:
    setting, run = plan.setting, run_folder(folder, name)
    options = plan.training_settings(name)
    estimator = None if name == STABLE else Estimator(*name.split("/"))

    def work(tell: Tell) -> None:
        def progress(iteration: int) -> object:
            return tell(iteration / plan.iterations)

        if (run / "config.toml").exists():
            resume(run, progress=progress)
        else:
            train(setting.problem, ReshapedThompson(setting.problem), estimator, out=run, progress=progress, **options)

    runs = 8000 if name == STABLE else setting.episodes * (2 if name.endswith("self") else 1)
    effort = plan.iterations * runs * setting.horizon * setting.arms
    return Part(f"training {name}", effort, lambda: RunFolder(run).is_finished, work)


def _evaluation(plan: Plan, folder: Path, row: str, policy: Callable[[], Policy], effort: float) -> Part:
    path, episodes = evaluation_file(folder, row), plan.evaluation_episodes

    def is_done() -> bool:
        found = read_evaluation(path)
        return found is not None and len(found.regret) == episodes

    return Part(
        f"playing {row}",
        effort * episodes * plan.setting.horizon * plan.setting.arms,
        is_done,
        lambda tell: evaluate(path, policy(), plan, lambda played: tell(played / episodes)),
    )


def _write_bound(plan: Plan, folder: Path) -> None:
    bound = regret_bound(
        plan.setting.problem,
        horizon=plan.setting.horizon,
        episodes=max(256, math.ceil(plan.fraction * BOUND_EPISODES)),
        seed=plan.evaluation_seed,
    )
    write_json(
        folder / "bound.json",
        "bound",
        {"kind": bound.kind, "regret": bound.regret, "standard_error": bound.standard_error},
    )


def read_bound(folder: Path) -> dict[str, object]:
    """Kind, regret and standard error of the bound."""
    found = read_json(folder / "bound.json", "bound")
    return {name: found[name] for name in ("kind", "regret", "standard_error")}
