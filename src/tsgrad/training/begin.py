"""How a run of training begins: from a problem, from a configuration, or where it was stopped."""

from pathlib import Path
from typing import Unpack

from tsgrad.checks import check_path, check_type
from tsgrad.estimate import Estimator
from tsgrad.policies import SamplingPolicy, parameter_names
from tsgrad.problems import AnyProblem, FiniteArms
from tsgrad.simulation import EVERY_USER, LOCAL, Conditions, Workers, check_workers
from tsgrad.training.configuration import Configuration, default_estimator, default_policy
from tsgrad.training.folder import RunFolder
from tsgrad.training.progress import Progress
from tsgrad.training.run import Run
from tsgrad.training.settings import TrainingOptions, TrainingSettings, checked
from tsgrad.training.starts import best_start, scan
from tsgrad.training.trainer import Trainer


def train(
    problem: AnyProblem,
    policy: SamplingPolicy | None = None,
    estimator: Estimator | None = None,
    *,
    conditions: Conditions = EVERY_USER,
    out: str | Path | None = None,
    progress: Progress = None,
    workers: Workers = LOCAL,
    **settings: Unpack[TrainingOptions],
) -> Run:
    """Tunes a sampling policy by policy gradient.

    Args:
        problem: what is played.
        policy: where to start; its meta-parameters are moved. By default the bonus law, from the best of several simple
            policies: plain Thompson sampling, scaled deviations, constant bonuses, greedy, and laws trained over random
            problems. Where there are infinitely many arms, reshaped Thompson sampling.
        estimator: of the gradient. By default the least noisy one that is unbiased for the problem: bayes/self with 4
            rollouts where its model can be trusted, else mean/self, with 8 where the truth is another than the model.
        conditions: how the experiment is run for which the policy is tuned; `horizon` then counts its steps.
        out: a folder for everything about the run, from which `tsgrad.resume` continues it if it is stopped.
        progress: whether to show a bar (by default on a terminal), or a function to tell how many iterations are done,
            those of a warm-up included.
        workers: who computes: this process, or `tsgrad.RayWorkers`; the run is the same.
        settings: `horizon`, and if other than the defaults, `episodes`, `iterations`, `learning_rate`, `seed` and the
            other keys of the table `training` of a configuration.

    Returns:
        The run: its policy, the one that training selected, the comparison with rivals, and the history.

    Raises:
        BadInput: if an argument can't be used; the message says which and why, before anything is computed.
        TrainingStopped: if gradients are not finite, and steps that are taken back and shortened do not help; `out`
            keeps the last good state.

    Training goes on in rounds of `iterations`, while a round gains on validation episodes. The policy that did best
    there is compared, on fresh episodes, with plain Thompson sampling, greedy and every rival that an agent can play
    and that takes seconds: `run.policy` is the best of them all, and `print(run)` says which, and by how much.

        >>> from tsgrad.problems import BernoulliBandit
        >>> run = train(BernoulliBandit(arms=5), horizon=20, episodes=512, iterations=30, seed=1)
        >>> run.improved and run.gain > 0
        True

    """
    checked_settings = checked(TrainingSettings, settings)
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    check_type("conditions", conditions, Conditions, remedy="such as tsgrad.Conditions(batch=100)")
    check_workers(workers)
    left_open = policy is None
    policy = default_policy(problem) if policy is None else policy
    check_type("policy", policy, SamplingPolicy, remedy="such as tsgrad.BonusThompson(problem)")
    checked_settings = checked_settings.for_parameters(len(parameter_names(policy)))
    if not conditions.every_user:
        checked_settings = checked_settings.for_batches()
    if left_open and conditions.trivial:  # conditions are of one horizon
        checked_settings = checked_settings.warmed_up()
    estimator = default_estimator(problem, conditions) if estimator is None else estimator
    check_type("estimator", estimator, Estimator, remedy='such as tsgrad.Estimator("mean", "self")')
    folder = None if out is None else RunFolder(check_path("out", out))
    training = Trainer(problem, policy, estimator, checked_settings, conditions, workers)
    if folder is not None:
        folder.check_free()
    if left_open and isinstance(problem.model, FiniteArms):
        shortest = [*checked_settings.of_warm_up(), checked_settings][0]
        start = best_start(problem, scan(shortest, conditions), engine=shortest.engine, workers=workers)
        training = Trainer(problem, start, estimator, checked_settings, conditions, workers)
    if folder is not None:
        folder.start(training.described(), training.provenance)
    with training.progress(progress) as shown:
        return training.run(folder, shown)


def train_configuration(
    configuration: Configuration,
    *,
    out: str | Path | None = None,
    progress: Progress = None,
    workers: Workers = LOCAL,
) -> Run:
    """Trains what a configuration describes; what it leaves open, `train` decides."""
    problem = configuration.build_problem()
    return train(
        problem,
        configuration.build_policy(problem) if configuration.policy else None,
        configuration.build_estimator(problem),
        conditions=configuration.build_conditions(),
        out=out,
        progress=progress,
        workers=workers,
        **configuration.training.model_dump(exclude_unset=True),
    )


def resume(out: str | Path, *, progress: Progress = None, workers: Workers = LOCAL) -> Run:
    """Continues the run in a folder: the result is, bit for bit, that of a run that was never stopped.

    Args:
        out: the folder of the run.
        progress: whether to show a bar (by default on a terminal), or a function to tell how many iterations are done.
        workers: who computes from here on, whoever did before.

    Returns:
        The run, as `tsgrad.train` gives it.

    Raises:
        BadInput: if the folder holds no run, or one that this version can't read.
        TrainingStopped: if a gradient or a meta-parameter is no longer a finite number.

    >>> import tempfile, tsgrad as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = tg.train(tg.BernoulliBandit(arms=2), horizon=5, episodes=256, iterations=2, out=f"{folder}/run")
    ...     print(tg.resume(f"{folder}/run").gain == run.gain)  # it had ended: its result is read
    True

    """
    check_workers(workers)
    folder = RunFolder(check_path("out", out))
    folder.clean()
    configuration = folder.configuration()
    problem = configuration.build_problem()
    policy = configuration.build_policy(problem)
    training = Trainer(
        problem,
        policy,
        configuration.build_estimator(problem),
        configuration.training,
        configuration.build_conditions(),
        workers,
    )
    with training.progress(progress) as shown:
        return training.run(folder, shown)
