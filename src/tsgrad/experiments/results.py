"""What reproducing a setting found, as records that live in `results.json`: made from what the parts left behind.

Nothing in them depends on the clock, so that a reproduction that was stopped and resumed writes the same bytes; how
long each part took is in `timing.json`, beside.
"""

import itertools
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pydantic

from tsgrad.artefact import read_json, write_json
from tsgrad.checks import BadInput
from tsgrad.evaluate import Comparison, Played, PolicyResult
from tsgrad.experiments.parts import evaluation_file, policies, read_bound, read_evaluation, run_folder
from tsgrad.experiments.plan import NULL_PAIRS, STABLE, Moment, Plan, PlannedTraining, Recipe
from tsgrad.experiments.rivals import PLAIN, RIVALS
from tsgrad.experiments.settings import Printed
from tsgrad.policies import ReshapedGaussian, SamplingPolicy
from tsgrad.registry import to_data
from tsgrad.simulation import simulate
from tsgrad.streams import Purpose
from tsgrad.training import HistoryRow, Run, RunFolder, plain_meta_parameters

SAME = 2.0  # combined standard errors within which a regret is called the same as the printed one
LIBRARIES = ("tsgrad", "jax", "numpy", "optax", "scipy")
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


def assemble(plan: Plan, folder: Path) -> Results:
    """All that was found, once every part is done."""
    runs = {training: RunFolder(run_folder(folder, training.name)).run() for training in plan.trainings}
    printed = {training: run for training, run in runs.items() if training.recipe == "as printed"}
    first = {training: run for training, run in runs.items() if training not in printed}
    by_title = {training.title: run for training, run in first.items()}
    played = _played(plan, folder)
    return Results(
        **dict(_findings(plan, folder, first, RIVALS, played)),
        as_printed=_findings(plan, folder, printed, [PLAIN], played),
        setting=plan.name,
        title=plan.setting.title,
        problem=to_data(plan.setting.problem),
        fraction=plan.fraction,
        seed=plan.seed,
        engine=by_title[STABLE].provenance["engine"],
        versions={"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        pulls_during_training=_pulls(plan, by_title["mean/self"]),
        null_curves=null_curves([by_title[pair].history for pair in NULL_PAIRS]),
    )


def _findings(
    plan: Plan, folder: Path, runs: dict[PlannedTraining, Run], rivals: Iterable[str], played: dict[str, Played]
) -> Findings:
    """The findings of some trainings and rivals, by the titles of trainings: which recipe it is, the caption says."""
    trained = {policy.title: played[policy.name] for policy in plan.trained_policies if policy.training in runs}
    comparison = Comparison.of(
        {**trained, **{rival: played[rival] for rival in rivals}},
        horizon=plan.setting.horizon,
        seed=plan.evaluation_seed,
        reference=PLAIN,
        bound=read_bound(folder),
    )
    return Findings(
        trainings=[_training(folder, training, run) for training, run in runs.items()],
        comparison=comparison,
        rows=paper_rows(plan, comparison),
    )


def paper_rows(plan: Plan, comparison: Comparison) -> list[Row]:
    """Which training each policy of a comparison is of, and how it compares with the paper."""
    trained = {policy.title: (policy.training.title, policy.moment) for policy in plan.trained_policies}
    rows = []
    for name, found in comparison.policies.items():
        training, moment = trained.get(name, (None, None))
        printed = {**plan.setting.trained, **plan.setting.rivals}.get(training or name)
        z, verdict = (None, None)
        if printed is not None:
            z, verdict = compared_with_print(found.regret, found.standard_error, printed)
        rows.append(
            Row(
                name=name,
                group="rival" if training is None else "stable" if training == STABLE else "trained",
                training=training,
                moment=moment,
                printed=printed,
                z=z,
                verdict=verdict,
            )
        )
    return rows


def compared_with_print(regret: float, error: float, printed: Printed) -> tuple[float, Verdict]:
    """The difference from a printed value in combined standard errors, and what that means.

    >>> compared_with_print(14.0, 0.4, Printed(15.0, 0.3))
    (-2.0, 'better')
    """
    z = (regret - printed.regret) / float(np.hypot(error, printed.standard_error))
    verdict: Verdict = "same" if abs(z) < SAME else "better" if z < 0 else "worse"
    return z, verdict


def null_curves(histories: list[list[HistoryRow]]) -> NullCurves:
    """How far learning curves are apart, on their training batches."""
    measured = [[(row.regret, row.regret_standard_error) for row in history[:-1]] for history in histories]
    regrets = np.array(measured, dtype=float)[:, :, 0]
    distances = np.array([np.abs(one - other) for one, other in itertools.combinations(regrets, 2)])
    return NullCurves(
        largest_distance=float(distances.max()),
        mean_distance=float(distances.mean()),
        mean_standard_error=float(np.array(measured, dtype=float)[:, :, 1].mean()),
    )


def _played(plan: Plan, folder: Path) -> dict[str, Played]:
    found = {}
    for name, policy in policies(plan, folder).items():
        played = read_evaluation(evaluation_file(folder, name), policy(), plan)
        if played is None or len(played.regret) != plan.evaluation_episodes:
            raise BadInput(f"{evaluation_file(folder, name)} is missing or damaged: reproduce again with --resume")
        found[name] = played
    return found


def _training(folder: Path, training: PlannedTraining, run: Run) -> Training:
    path = run_folder(folder, training.name)
    configuration = RunFolder(path).configuration()
    estimator = configuration.build_estimator(configuration.build_problem())
    return Training(
        name=training.title,
        metric=estimator.metric_name,
        baseline=estimator.baseline_name,
        recipe=training.recipe,
        folder=path.relative_to(folder).as_posix(),
        settings={
            **configuration.training.model_dump(exclude_none=True),
            "rollouts": estimator.rollouts,
        },
        history=[row._replace(meta_parameters={}) for row in run.history],
        start=plain_meta_parameters(run.start),
        last=plain_meta_parameters(run.last),
        selected=plain_meta_parameters(run.policy),
    )


def _pulls(plan: Plan, run: Run) -> list[PullsAt]:
    """Pulls in the training batches of some iterations, by the policies that training had then."""
    setting = plan.setting
    counted = []
    for iteration in plan.watched_iterations:
        played = simulate(
            setting.problem,
            _policy_at(run, iteration),
            horizon=setting.horizon,
            episodes=setting.episodes,
            seed=plan.seed,
            purpose=Purpose.TRAINING,
            iteration=iteration - 1,
        )
        assert played.pulls is not None
        counted.append(PullsAt(iteration=iteration, pulls=played.pulls.tolist()))
    return counted


def _policy_at(run: Run, iteration: int) -> SamplingPolicy:
    """The policy that played the batch of an iteration, which is counted from 1."""
    values = run.history[iteration - 1].meta_parameters
    return ReshapedGaussian(
        prior_mean=values["prior_mean"],
        log_prior_variance=np.log(values["prior_variance"]),
        log_precision_ratio=np.log(values["precision_ratio"]),
        decay=values["decay"],
    )
