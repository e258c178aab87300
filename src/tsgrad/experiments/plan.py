"""The plan of a reproduction in one setting, and the folder that belongs to it."""

from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pydantic

from tsgrad.artefact import TEMPORARY, Taken, read_json, write_json
from tsgrad.checks import BadInput, check_count
from tsgrad.experiments.settings import STEPS, Setting, setting_named
from tsgrad.training import TrainingSettings

NULL_PAIRS = ("obs/null", "mean/null", "bayes/null")
STABLE = "stable"  # the title of the training with the default recipe of `train`
AS_PRINTED = " as printed"  # ends the name of a training with the learning rate as printed
SELECTED = " (selected)"  # ends the name of a policy that was selected on validation episodes
LEAST_ITERATIONS, LEAST_EPISODES = 4, 256


Recipe = Literal["paper", "as printed", "stable"]  # "paper": the paper's, with its learning rate times `STEPS`
Moment = Literal["last", "selected"]


class PlannedTraining(NamedTuple):
    """A training of a reproduction: one of the paper's pairs by a recipe, or our own."""

    title: str  # in tables, which are of one recipe for the paper's pairs: "mean/self"; "stable" for our own
    recipe: Recipe

    @property
    def name(self) -> str:
        """Of its files, which are those of all recipes."""
        return self.title + (AS_PRINTED if self.recipe == "as printed" else "")


class TrainedPolicy(NamedTuple):
    """A policy of a training: the one at its end, or the one selected on validation episodes."""

    training: PlannedTraining
    moment: Moment

    @property
    def name(self) -> str:
        """Of its files, which are those of all recipes."""
        return policy_name(self.training.name, self.moment)

    @property
    def title(self) -> str:
        """In tables, which are of one recipe for the paper's pairs."""
        return policy_name(self.training.title, self.moment)


def policy_name(training: str, moment: Moment) -> str:
    """What a policy of a training is called.

    >>> policy_name("mean/self", "last"), policy_name("mean/self", "selected")
    ('mean/self', 'mean/self (selected)')
    """
    return training + (SELECTED if moment == "selected" else "")


class Plan(pydantic.BaseModel):
    """One setting, the share of the paper's effort, and seeds. A folder belongs to one plan."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: str
    fraction: float = pydantic.Field(default=1.0, gt=0, le=1)
    seed: int = pydantic.Field(default=0, ge=0, lt=2**64)
    evaluation_seed: int = pydantic.Field(default=0, ge=0, lt=2**64)

    @property
    def setting(self) -> Setting:
        """What the paper says about it."""
        return setting_named(self.name)

    @property
    def iterations(self) -> int:
        """Of each of the paper's trainings."""
        return max(LEAST_ITERATIONS, round(self.fraction * self.setting.iterations))

    def iterations_of(self, recipe: Recipe) -> int:
        """Of a training: as many as the paper's have, or as the default recipe has."""
        if recipe != "stable":
            return self.iterations
        default = TrainingSettings(horizon=self.setting.horizon).warmed_up().iterations
        return max(LEAST_ITERATIONS, round(self.fraction * default))

    @property
    def evaluation_episodes(self) -> int:
        """Common to all policies."""
        return max(LEAST_EPISODES, round(self.fraction * self.setting.evaluation_episodes))

    @property
    def watched_iterations(self) -> list[int]:
        """Iterations, from 1, whose pulls are counted: of 1,000 they are 1, 334, 667 and 1000."""
        return [int(iteration) for iteration in np.linspace(1, self.iterations, 4).round()]

    @property
    def trainings(self) -> list[PlannedTraining]:
        """The paper's pairs, the default recipe, and the pairs once more with the learning rate as printed."""
        return [
            *(PlannedTraining(pair, "paper") for pair in self.setting.trained),
            PlannedTraining(STABLE, "stable"),
            *(PlannedTraining(pair, "as printed") for pair in self.setting.trained),
        ]

    @property
    def trained_policies(self) -> list[TrainedPolicy]:
        """Two of each training, in the order of the table."""
        moments: tuple[Moment, ...] = ("last", "selected")
        return [TrainedPolicy(training, moment) for training in self.trainings for moment in moments]

    def training_settings(self, recipe: Recipe) -> dict[str, Any]:
        """The paper's hyper-parameters, its rate times `STEPS` or as printed, or the default recipe: for `train`."""
        given = {
            "horizon": self.setting.horizon,
            "iterations": self.iterations_of(recipe),
            "seed": self.seed,
            "rivals": False,  # a reproduction plays them itself
        }
        if recipe == "stable":
            return given
        printed = self.setting.learning_rate
        return {
            **given,
            "episodes": self.setting.episodes,
            "learning_rate": printed if recipe == "as printed" else round(STEPS * printed, 6),
            "schedule": "constant",
            "optimizer": "adam",
        }


def claim_folder(folder: Path, *, name: str, fraction: float | None, seed: int | None, resume: bool) -> Plan:
    """The plan that a folder is for from now on; with `resume`, the one that it is for already."""
    setting_named(name)
    if fraction is not None and not 0 < fraction <= 1:
        raise BadInput(f"fraction must be above 0 and at most 1, got {fraction}")
    if seed is not None:
        check_count("seed", seed, least=0, most=2**64 - 1)
    given = {option: value for option, value in (("fraction", fraction), ("seed", seed)) if value is not None}
    path = folder / "plan.json"
    given_plan = Plan.model_validate({"name": name, **given})
    if path.exists():
        if not resume:
            raise BadInput(f"out: {folder} holds a reproduction: continue it with --resume, or choose another folder")
        plan = _read_plan(path)
        if plan.name != name:
            raise BadInput(f"setting must be {plan.name} as {folder} was started with, got {name}")
        for option, value in given.items():
            if getattr(plan, option) != value:
                raise BadInput(f"{option} must be {getattr(plan, option)} as {folder} was started with, got {value}")
        for leftover in folder.rglob(f".*{TEMPORARY}"):
            leftover.unlink(missing_ok=True)
        return plan
    if resume:
        raise BadInput(f"out: {folder} holds no reproduction to continue: leave --resume out to start one")
    if folder.exists() and (
        not folder.is_dir() or any(not entry.name.endswith(TEMPORARY) for entry in folder.iterdir())
    ):
        raise BadInput(f"out: {folder} is not an empty folder: choose another")
    try:
        write_json(path, "plan", {"plan": given_plan.model_dump()}, new=True)
    except Taken:
        raise BadInput(f"out: {folder} holds a reproduction that was started just now: choose another folder") from None
    return given_plan


def _read_plan(path: Path) -> Plan:
    try:
        return Plan.model_validate(read_json(path, "plan")["plan"])
    except (KeyError, pydantic.ValidationError):
        raise BadInput(f"{path} does not hold what this version of tsgrad writes: reproduce again") from None
