"""What reproducing a setting found, as records that live in `results.json`.

Nothing in them depends on the clock, so that a reproduction that was stopped and resumed writes the same bytes; how
long each part took is in `timing.json`, beside.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from tsgrad.artefact import read_json, write_json
from tsgrad.checks import BadInput
from tsgrad.evaluate import Comparison, PolicyResult
from tsgrad.experiments.plan import Moment, Recipe
from tsgrad.experiments.settings import Printed
from tsgrad.training import HistoryRow

Verdict = Literal["better", "same", "worse"]


class _Record(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Training(_Record):
    """One training run: with which settings, how it went, and what it moved."""

    name: str  # "mean/self"; "stable" for our own recipe
    metric: str
    baseline: str
    recipe: Recipe
    folder: str  # of the run, relative to the folder of results.json
    settings: dict[str, Any]  # the [training] table: episodes, iterations, learning_rate, seed, engine...
    history: Annotated[  # without meta-parameters, which are in the run's own folder
        list[HistoryRow], pydantic.PlainSerializer(lambda history: [row._asdict() for row in history])
    ]
    start: dict[str, Any]  # meta-parameters before, in the paper's units: a number or one per arm
    last: dict[str, Any]  # at the end of training
    selected: dict[str, Any]  # of the policy selected on validation episodes


class Row(_Record):
    """What a table adds to a policy of the comparison: which training it is of, and what the paper prints."""

    name: str  # in the comparison: "mean/self", "mean/self (selected)", "stable", "TS", "IDS"...
    group: Literal["trained", "stable", "rival"]
    training: str | None  # by its name; None for rivals
    moment: Moment | None  # of that training: its end, or what was selected on validation episodes
    printed: Printed | None
    z: float | None  # (regret - printed) / combined standard error
    verdict: Verdict | None  # against the printed value: |z| < 2 is "same"


class PullsAt(_Record):
    """Average pulls per arm in one training batch; iterations count from 1, as in the paper."""

    iteration: int
    pulls: list[float]  # [K]


class NullCurves(_Record):
    """How far the learning curves of the three null-baseline estimators are apart, which the paper says coincide."""

    largest_distance: float  # of any two, at any iteration
    mean_distance: float  # over pairs and iterations
    mean_standard_error: float  # of a point of a curve


class Findings(_Record):
    """What a table is made of: trainings, and how their policies and rivals did on the same episodes."""

    trainings: list[Training]
    comparison: Annotated[  # of all policies, on the evaluation episodes; gains are over plain Thompson sampling
        Comparison,
        pydantic.PlainValidator(lambda found: found if isinstance(found, Comparison) else Comparison.from_data(found)),
        pydantic.PlainSerializer(Comparison.data),
    ]
    rows: list[Row]  # in the order of the table

    @pydantic.model_validator(mode="after")
    def _is_whole(self) -> "Findings":
        known = {training.name for training in self.trainings}
        wanted = {row.training for row in self.rows if row.training is not None}
        if [row.name for row in self.rows] != self.comparison.names or not wanted <= known or not self.trainings:
            raise ValueError("rows without their policy or training")
        return self

    def row_of(self, training: str, moment: Moment) -> Row | None:
        """The row of a training, by its name: of the policy at its end, or of the one selected; None if not there."""
        return {(row.training, row.moment): row for row in self.rows}.get((training, moment))

    def training(self, row: Row) -> Training | None:
        """The training that a row is of."""
        return {training.name: training for training in self.trainings}.get(row.training or "")

    def measured(self, row: Row) -> PolicyResult:
        """What the policy of a row did."""
        return self.comparison.policies[row.name]


class Results(Findings):
    """All that was found in one setting."""

    setting: str
    title: str
    problem: dict[str, Any]  # as tsgrad.registry.from_data reads it
    fraction: float  # of the paper's iterations and episodes
    seed: int  # of all trainings
    engine: str
    versions: dict[str, str]  # tsgrad, python, numpy, jax...
    pulls_during_training: list[PullsAt]  # of mean/self
    null_curves: NullCurves
    as_printed: Findings  # the paper's pairs with the learning rate as printed, and plain Thompson sampling


def write_results(path: str | Path, results: Results) -> None:
    """Writes `results.json`."""
    write_json(path, "results", {"results": results.model_dump()})


def read_results(path: str | Path) -> Results:
    """Reads `results.json`; what it holds is checked."""
    try:
        return Results.model_validate(read_json(path, "results")["results"])
    except (KeyError, pydantic.ValidationError):
        raise BadInput(
            f"{path} does not hold what this version of tsgrad writes: reproduce again with --resume"
        ) from None
