"""What reproducing a setting found, as records that live in `results.json`: written by experiments, read by reports.

Nothing in them depends on the clock, so that a reproduction that was stopped and resumed writes the same bytes; how
long each part took is in `timing.json`, beside.
"""

import json
from pathlib import Path
from typing import Any, Literal

import pydantic

from tsgrad.artefact import read_json, write_json
from tsgrad.checks import BadInput

TRAINED = "Trained TS"  # what tables call the paper's trained policies
Verdict = Literal["better", "same", "worse"]


class _Record(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class CurvePoint(_Record):
    """The policy after `iteration` updates, as training measured it; None where it was not measured."""

    iteration: int
    regret: float | None  # on its training batch
    standard_error: float | None
    validation_regret: float | None


class Training(_Record):
    """One training run: with which settings, how it went, and what it moved."""

    name: str  # "mean/self"; "stable" for our own recipe
    metric: str
    baseline: str
    recipe: Literal["paper", "stable"]
    folder: str  # of the run, relative to the folder of results.json
    settings: dict[str, Any]  # the [training] table: episodes, iterations, learning_rate, seed, engine...
    history: list[CurvePoint]
    start: dict[str, Any]  # meta-parameters before, in the paper's units: a number or one an arm
    last: dict[str, Any]  # at the end of training
    selected: dict[str, Any]  # of the policy selected on validation episodes
    improved: bool
    gain: float  # of the selected policy over the start, paired, on episodes of its own
    gain_standard_error: float


class Row(_Record):
    """One policy on the evaluation episodes, which are the same for all rows."""

    name: str  # unique: "mean/self", "mean/self (selected)", "stable", "TS", "IDS"...
    group: Literal["trained", "stable", "rival"]
    algorithm: str  # as the table shows it: "Trained TS", "Bayes-UCB"...
    metric: str | None
    baseline: str | None
    policy: Literal["last", "selected"] | None  # of a trained row: at the end of training, or selected on validation
    regret: float
    standard_error: float
    gain: float  # how much less regret than plain Thompson sampling, paired
    gain_standard_error: float
    printed: float | None  # the paper's
    printed_standard_error: float | None
    z: float | None  # (regret - printed) / combined standard error
    verdict: Verdict | None  # against the printed value: |z| < 2 is "same"
    regret_over_time: list[float]  # [T]: lost up to each step
    pulls: list[float]  # [K]


class PullsAt(_Record):
    """Average pulls per arm in one training batch; iterations count from 1, as in the paper."""

    iteration: int
    pulls: list[float]  # [K]


class Bound(_Record):
    """A regret that no policy can beat."""

    kind: str
    regret: float
    standard_error: float


class NullCurves(_Record):
    """How far the learning curves of the three null-baseline estimators are apart, which the paper says coincide."""

    largest_distance: float  # of any two, at any iteration
    mean_distance: float  # over pairs and iterations
    mean_standard_error: float  # of a point of a curve


class Results(_Record):
    """All that was found in one setting."""

    setting: str
    title: str
    problem: dict[str, Any]  # as tsgrad.registry.from_data reads it
    horizon: int
    fraction: float  # of the paper's iterations and episodes
    seed: int  # of all trainings
    evaluation_seed: int
    evaluation_episodes: int
    engine: str
    versions: dict[str, str]  # tsgrad, python, numpy, jax...
    trainings: list[Training]
    rows: list[Row]  # in the order of the table
    pulls_during_training: list[PullsAt]  # of mean/self
    null_curves: NullCurves
    bound: Bound | None

    @property
    def best(self) -> Row:
        """The row with the least regret, which tables print in bold."""
        return min(self.rows, key=lambda row: row.regret)

    def row(self, name: str) -> Row:
        """A row by its name."""
        return {row.name: row for row in self.rows}[name]


def write_results(path: str | Path, results: Results) -> None:
    """Writes `results.json`."""
    write_json(path, "results", {"results": results.model_dump()})


def read_results(path: str | Path) -> Results:
    """Reads `results.json`; what it holds is checked."""
    try:
        return Results.model_validate(read_json(path, "results")["results"])
    except (KeyError, pydantic.ValidationError):
        raise BadInput(f"{path} does not hold what this version of tsgrad writes: reproduce again") from None


def read_seconds(folder: str | Path) -> dict[str, float]:
    """How long each part took, by its name, from `timing.json`; empty where there is none."""
    path = Path(folder) / "timing.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}
