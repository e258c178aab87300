"""Results are put together from what the parts of a reproduction left behind: runs, evaluations, a bound."""

import itertools
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import numpy as np

from tsgrad.checks import BadInput
from tsgrad.evaluate import PLAIN, RIVALS, Comparison, Played
from tsgrad.experiments.parts import evaluation_file, policies, read_bound, read_evaluation, run_folder
from tsgrad.experiments.plan import NULL_PAIRS, STABLE, Plan, PlannedTraining
from tsgrad.experiments.results import Findings, NullCurves, PullsAt, Results, Row, Training, Verdict
from tsgrad.experiments.settings import Printed
from tsgrad.policies import ReshapedGaussian, SamplingPolicy, plain_meta_parameters
from tsgrad.registry import to_data
from tsgrad.simulation import simulate
from tsgrad.streams import Purpose
from tsgrad.training import HistoryRow, Run, RunFolder

SAME = 2.0  # combined standard errors within which a regret is called the same as the printed one
LIBRARIES = ("tsgrad", "jax", "numpy", "optax", "scipy")


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
        selected=plain_meta_parameters(run.trained),
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
