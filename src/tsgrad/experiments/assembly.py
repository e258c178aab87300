"""From the files that the parts left to one record."""

import itertools
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.evaluate.statistics import mean_and_error
from tsgrad.experiments.evaluations import Evaluation, read_evaluation
from tsgrad.experiments.parts import SELECTED, evaluation_file, read_bound, run_folder
from tsgrad.experiments.plan import NULL_PAIRS, STABLE, Plan
from tsgrad.experiments.results import TRAINED, Bound, CurvePoint, NullCurves, PullsAt, Results, Row, Training, Verdict
from tsgrad.experiments.rivals import PLAIN, RIVALS
from tsgrad.experiments.settings import Printed
from tsgrad.policies import SamplingPolicy
from tsgrad.policies.reshaped_gaussian import ReshapedGaussian
from tsgrad.registry import to_data
from tsgrad.simulation import simulate
from tsgrad.streams import Purpose
from tsgrad.training import HistoryRow, Run, RunFolder

SAME = 2.0  # combined standard errors within which a regret is called the same as the printed one
LIBRARIES = ("tsgrad", "jax", "numpy", "optax", "scipy")


def assemble(plan: Plan, folder: Path) -> Results:
    """All that was found, once every part is done."""
    runs = {name: RunFolder(run_folder(folder, name)).run() for name in plan.trainings}
    histories = {name: run.history for name, run in runs.items()}
    return Results(
        setting=plan.name,
        title=plan.setting.title,
        problem=to_data(plan.setting.problem),
        horizon=plan.setting.horizon,
        fraction=plan.fraction,
        seed=plan.seed,
        evaluation_seed=plan.evaluation_seed,
        evaluation_episodes=plan.evaluation_episodes,
        engine=runs[STABLE].provenance["engine"],
        versions={"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        trainings=[_training(plan, folder, name, run) for name, run in runs.items()],
        rows=_rows(plan, folder),
        pulls_during_training=_pulls(plan, runs["mean/self"]),
        null_curves=null_curves([histories[name] for name in NULL_PAIRS]),
        bound=Bound.model_validate(read_bound(folder)),
    )


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


def compared_with_print(regret: float, error: float, printed: Printed) -> tuple[float, Verdict]:
    """The difference from a printed value in combined standard errors, and what that means.

    >>> compared_with_print(14.0, 0.4, Printed(15.0, 0.3))
    (-2.0, 'better')
    """
    z = (regret - printed.regret) / float(np.hypot(error, printed.standard_error))
    verdict: Verdict = "same" if abs(z) < SAME else "better" if z < 0 else "worse"
    return z, verdict


def _training(plan: Plan, folder: Path, name: str, run: Run) -> Training:
    path = run_folder(folder, name)
    configuration = RunFolder(path).configuration()
    return Training(
        name=name,
        metric=configuration.estimator.metric,
        baseline=configuration.estimator.baseline,
        recipe="stable" if name == STABLE else "paper",
        folder=path.relative_to(folder).as_posix(),
        settings={
            **configuration.training.model_dump(exclude_none=True),
            "rollouts": configuration.estimator.build().rollouts,
        },
        history=[
            CurvePoint(
                iteration=row.iteration,
                regret=row.regret,
                standard_error=row.regret_standard_error,
                validation_regret=row.validation_regret,
            )
            for row in run.history
        ],
        start=_lists(run.start),
        last=_lists(run.last),
        selected=_lists(run.policy),
        improved=run.improved,
        gain=run.gain,
        gain_standard_error=run.gain_standard_error,
    )


def _rows(plan: Plan, folder: Path) -> list[Row]:
    setting = plan.setting

    def found(name: str) -> Evaluation:
        evaluation = read_evaluation(evaluation_file(folder, name))
        assert evaluation is not None
        return evaluation

    plain = found(PLAIN).regret
    rows = []
    for training in plan.trainings:
        pair = ("mean", "self") if training == STABLE else tuple(training.split("/"))
        for name, policy in ((training, "last"), (training + SELECTED, "selected")):
            rows.append(
                Row(
                    name=name,
                    group="stable" if training == STABLE else "trained",
                    algorithm="Our recipe" if training == STABLE else TRAINED,
                    metric=pair[0],
                    baseline=pair[1],
                    policy=policy,  # type: ignore[arg-type]  # one of the two
                    **_measured(found(name), plain, setting.trained.get(training)),
                )
            )
    for name in RIVALS:
        measured = _measured(found(name), plain, setting.rivals.get(name))
        rows.append(Row(name=name, group="rival", algorithm=name, metric=None, baseline=None, policy=None, **measured))
    return rows


def _measured(evaluation: Evaluation, plain: FloatArray, printed: Printed | None) -> dict[str, Any]:
    regret, error = mean_and_error(evaluation.regret)
    gain, gain_error = mean_and_error(plain - evaluation.regret)
    z, verdict = (None, None) if printed is None else compared_with_print(regret, error, printed)
    return {
        "regret": regret,
        "standard_error": error,
        "gain": gain,
        "gain_standard_error": gain_error,
        "printed": None if printed is None else printed.regret,
        "printed_standard_error": None if printed is None else printed.standard_error,
        "z": z,
        "verdict": verdict,
        "regret_over_time": evaluation.regret_over_time.tolist(),
        "pulls": evaluation.pulls.tolist(),
    }


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


def _lists(policy: SamplingPolicy) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in policy.meta_parameters().items()}
