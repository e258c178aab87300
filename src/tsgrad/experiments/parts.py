"""The parts of a reproduction: trainings, evaluations, a bound. Each leaves files, and is done once they are there."""

import hashlib
import io
import json
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pydantic

from tsgrad.artefact import DAMAGED_ARCHIVE, read_json, write_json, write_whole
from tsgrad.checks import BadInput
from tsgrad.evaluate import FEWEST_EPISODES, RIVALS, Played, RegretBound, regret_bound
from tsgrad.experiments.plan import Moment, Plan, PlannedTraining, TrainedPolicy
from tsgrad.experiments.settings import paper_estimator
from tsgrad.policies import Policy, ReshapedThompson, load
from tsgrad.registry import to_data
from tsgrad.simulation import Workload, ready_for, simulated, simulation_engine
from tsgrad.streams import Purpose
from tsgrad.training import RunFolder, TrainingSettings, resume, train

Tell = Callable[[float], object]  # the share of a part that is done

BOUND_EPISODES = 4096
PIECE = 1024  # episodes that are kept together: whole blocks
POLICY_FILES: dict[Moment, str] = {"last": "last.json", "selected": "trained.json"}  # of a run
STABLE_ROLLOUTS = 4  # of an episode in the default recipe, to judge how long it takes


class Part(NamedTuple):
    """A piece of work with a name, about how much of it there is (draws of an arm), and whether it is done."""

    name: str
    effort: float
    is_done: Callable[[], bool]
    work: Callable[[Tell], None]
    training: PlannedTraining | None = None  # whose part it is, or that of whose policy


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


def policies(plan: Plan, folder: Path) -> dict[str, Callable[[], Policy]]:
    """What builds or loads the policy of each row, in the order of the table."""
    trained = {policy.name: partial(_trained_policy, folder, policy) for policy in plan.trained_policies}
    return {**trained, **{row: rival.build for row, rival in RIVALS.items()}}


def _trained_policy(folder: Path, trained: TrainedPolicy) -> Policy:
    policy: Policy = load(run_folder(folder, trained.training.name) / POLICY_FILES[trained.moment]).policy
    return policy


def parts(plan: Plan, folder: Path) -> list[Part]:
    """All of them, in order."""
    draws = plan.setting.horizon * plan.setting.arms
    bound_effort = BOUND_EPISODES * draws * plan.setting.horizon / 10
    training_of = {policy.name: policy.training for policy in plan.trained_policies}
    return [
        *(_training(plan, folder, training) for training in plan.trainings),
        *(
            _evaluation(plan, folder, row, policy, training_of.get(row))
            for row, policy in policies(plan, folder).items()
        ),
        Part("bound", bound_effort, (folder / "bound.json").exists, lambda tell: _write_bound(plan, folder)),
    ]


class Chain(NamedTuple):
    """Parts that follow from each other, by name, as a piece of work for whoever computes."""

    plan: Plan
    folder: Path
    names: list[str]


def chains(plan: Plan, folder: Path) -> list[Chain]:
    """What can be done side by side: a training and the evaluations of its policies; each other part by itself."""
    every = parts(plan, folder)
    trained = [[part.name for part in every if part.training == training] for training in plan.trainings]
    others = [[part.name] for part in every if part.training is None]
    return [Chain(plan, folder, names) for names in (*trained, *others)]


def do_chain(chain: Chain) -> dict[str, float]:
    """Does what is left of a chain; how many seconds each part took."""
    by_name = {part.name: part for part in parts(chain.plan, chain.folder)}
    seconds = {}
    for name in chain.names:
        if not by_name[name].is_done():
            start = time.monotonic()
            by_name[name].work(lambda share: None)
            seconds[name] = time.monotonic() - start
    return seconds


def _training(plan: Plan, folder: Path, training: PlannedTraining) -> Part:
    setting, run = plan.setting, run_folder(folder, training.name)
    options = plan.training_settings(training.recipe)
    is_paper = training.recipe != "stable"
    estimator = paper_estimator(training.title) if is_paper else None
    policy = ReshapedThompson(setting.problem) if is_paper else None  # the family and the estimator of `train` itself

    settings = TrainingSettings(**options) if is_paper else TrainingSettings(**options).warmed_up()
    iterations = sum(training.iterations for training in (*settings.of_warm_up(), settings))

    def work(tell: Tell) -> None:
        def progress(iteration: int) -> object:
            return tell(iteration / iterations)

        if (run / "config.toml").exists():
            resume(run, progress=progress)
        else:
            train(setting.problem, policy, estimator, out=run, progress=progress, **options)

    rollouts = settings.episodes * (STABLE_ROLLOUTS if estimator is None else estimator.rollouts)
    effort = options["iterations"] * rollouts * setting.horizon * setting.arms
    return Part(f"training {training.name}", effort, lambda: RunFolder(run).is_finished, work, training)


def _evaluation(
    plan: Plan, folder: Path, row: str, policy: Callable[[], Policy], training: PlannedTraining | None
) -> Part:
    path, episodes = evaluation_file(folder, row), plan.evaluation_episodes

    def is_done() -> bool:
        if not path.exists():
            return False
        found = read_evaluation(path, policy(), plan)
        return found is not None and len(found.regret) == episodes

    effort = RIVALS[row].effort if row in RIVALS else 1.0
    return Part(
        f"playing {row}",
        effort * episodes * plan.setting.horizon * plan.setting.arms,
        is_done,
        lambda tell: evaluate(path, policy(), plan, lambda played: tell(played / episodes)),
        training,
    )


def evaluate(path: Path, policy: Policy, plan: Plan, tell: Callable[[int], object]) -> None:
    """Plays the episodes that are not in the file yet, those of `compare` at the same seed, a piece at a time."""
    problem, horizon, episodes = plan.setting.problem, plan.setting.horizon, plan.evaluation_episodes
    whole = Workload(horizon=horizon, episodes=episodes, seed=plan.evaluation_seed, purpose=Purpose.EVALUATION)
    ready = ready_for(problem, policy, whole)
    engine = simulation_engine(problem, ready)
    found, fingerprint = read_evaluation(path, policy, plan), _fingerprint(policy, plan)
    while (done := 0 if found is None else len(found.regret)) < episodes:
        piece = whole.part(first_episode=done, episodes=min(PIECE, episodes - done))
        played = Played.of(simulated(engine, ready, piece))
        found = played if found is None else found.and_then(played)
        arrays = {**found._asdict(), "of": fingerprint}
        write_whole(path, lambda file, arrays=arrays: np.savez(file, **arrays))  # type: ignore[misc]
        tell(len(found.regret))


def read_evaluation(path: Path, policy: Policy, plan: Plan) -> Played | None:
    """What was played so far; None where there is nothing, or nothing of this policy and plan that can be read."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            if str(arrays["of"]) != _fingerprint(policy, plan):
                return None
            return Played(**{name: arrays[name] for name in Played._fields})
    except DAMAGED_ARCHIVE:
        return None


def _fingerprint(policy: Policy, plan: Plan) -> str:
    """What tells an evaluation from that of another policy, on other episodes, or in pieces of another kind."""
    what = {"policy": to_data(policy), "setting": plan.name, "seed": plan.evaluation_seed, "piece": PIECE}
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def _write_bound(plan: Plan, folder: Path) -> None:
    bound = regret_bound(
        plan.setting.problem,
        horizon=plan.setting.horizon,
        episodes=max(FEWEST_EPISODES, math.ceil(plan.fraction * BOUND_EPISODES)),
        seed=plan.evaluation_seed,
    )
    write_json(folder / "bound.json", "bound", {"bound": bound._asdict()})


def read_bound(folder: Path) -> RegretBound:
    """The regret that no policy can go below."""
    path = folder / "bound.json"
    try:
        found: RegretBound = pydantic.TypeAdapter(RegretBound).validate_python(read_json(path, "bound")["bound"])
    except (KeyError, pydantic.ValidationError):
        raise BadInput(f"{path} does not hold what this version of tsgrad writes: delete it and resume") from None
    return found
