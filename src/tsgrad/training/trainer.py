"""One training run: stochastic ascent on the meta-parameters, and the checks that make its result safe to use."""

import contextlib
import functools
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, TrainingStopped
from tsgrad.estimate import Estimator, estimated_gradient, gradient_engine, gradient_used, score_used
from tsgrad.evaluate import PLAIN, Rivals, compare, quick_rivals
from tsgrad.evaluate.statistics import mean_and_error
from tsgrad.policies import (
    Policy,
    SamplingPolicy,
    Thompson,
    parameter_names,
    parameter_vector,
    plain_meta_parameters,
    with_parameters,
)
from tsgrad.problems import AnyProblem
from tsgrad.registry import to_data
from tsgrad.simulation import Conditions, Workers, Workload, ready_for, simulated, simulation_engine
from tsgrad.streams import Purpose
from tsgrad.training.configuration import Configuration
from tsgrad.training.folder import RunFolder, State
from tsgrad.training.optimizer import build_ascent, has_trust, is_natural, with_less_trust
from tsgrad.training.progress import Progress, TrainingProgress, interruption
from tsgrad.training.run import TRAINED, HistoryRow, Run
from tsgrad.training.settings import EstimatorSettings, TrainingSettings

GOES_ON_Z = 2.0  # standard errors by which a round must have gained for another one to follow
HURTS_Z = 3.0  # standard errors by which a policy must be worse than the best so far to be given up

MOST_TAKEN_BACK = 8  # steps in a row that lead to where gradients are not finite

SELECTION, CONFIRMATION = 0, 1  # validation episodes: those that select a policy, those that compare it with rivals


class Trainer:
    """One training run: what stays the same from iteration to iteration."""

    def __init__(
        self,
        problem: AnyProblem,
        policy: SamplingPolicy,
        estimator: Estimator,
        settings: TrainingSettings,
        conditions: Conditions,
        workers: Workers,
    ) -> None:
        estimator.check(problem, conditions)
        self.names = parameter_names(policy)
        if not self.names:
            raise BadInput(f"policy must have meta-parameters to train, got {type(policy).__name__} with none")
        self.family = policy  # not made ready for a horizon
        self.batch = Workload(
            horizon=settings.horizon,
            episodes=settings.episodes,
            seed=settings.seed,
            purpose=Purpose.TRAINING,
            precision=settings.precision,
            chunk=settings.chunk,
            conditions=conditions,
        )
        policy = ready_for(problem, policy, self.batch)
        score = score_used(problem, policy, estimator, self.batch.users)
        gradient = gradient_used(problem, policy, estimator, conditions)
        estimator = estimator.with_score(score, None if conditions.every_user else gradient)
        self.conditions, self.workers = conditions, workers
        self.problem, self.policy, self.estimator, self.settings = problem, policy, estimator, settings
        self.ascent = build_ascent(
            settings.learning_rate,
            settings.schedule,
            settings.optimizer,
            settings.clip_norm,
            iterations=settings.iterations,
            rounds=settings.rounds,
        )
        self._try_optimizer()
        # Engines are chosen here, once, and written down: a run that goes on elsewhere must go on with the same ones.
        self.gradients = gradient_engine(
            problem,
            policy,
            (estimator,),
            engine=settings.engine,
            fisher=is_natural(settings.optimizer),
            conditions=conditions,
            workers=workers,
        )
        self.engine: Any = self.gradients.name
        self.simulations = simulation_engine(
            problem, policy, engine=self.engine, conditions=conditions, workers=workers
        )
        # The best policy so far is looked at again whenever another one may be worse.
        self.validated: Callable[[bytes], FloatArray] = functools.lru_cache(maxsize=3)(self._play_validation)
        self.selection = self.batch.part(
            episodes=settings.validation_episodes, purpose=Purpose.VALIDATION, iteration=SELECTION
        )
        self.provenance = {
            "version": version("tsgrad"),
            "seed": settings.seed,
            "engine": self.engine,
            "estimator": estimator.name,
            "horizon": settings.horizon,
        }

    def described(self) -> Configuration:
        """The run as a configuration from which it can be resumed."""
        try:
            estimator = EstimatorSettings.of(self.estimator)
        except BadInput as unregistered:
            name = self.estimator.name
            raise BadInput(
                f"out must be left out with estimator {name}, whose run could not be resumed: {unregistered}"
            ) from None
        settings = self.settings.model_copy(update={"engine": self.engine})
        policy = self.policy if settings.warm_up is None else self.family
        return Configuration(
            problem=to_data(self.problem),
            policy=to_data(policy),
            estimator=estimator,
            conditions=self.conditions.table or None,
            training=settings,
        )

    def start(self) -> State:
        """Before the first iteration."""
        vector = parameter_vector(self.policy)
        with jax.enable_x64(True):
            return State(0, vector, self.ascent.start(vector), vector, np.inf, vector, vector, 0)

    def progress(self, progress: Progress) -> TrainingProgress:
        """What is told of all that there is to do."""
        return TrainingProgress([*self.settings.of_warm_up(), self.settings], progress)

    def run(self, folder: RunFolder | None, progress: TrainingProgress) -> Run:
        """From the start, or from where the run in the folder was stopped, to the end."""
        if folder is not None and not folder.is_fresh:
            state, history = folder.load(self.start().optimizer)
            if folder.is_finished:
                with contextlib.suppress(BadInput):  # of files that were damaged: they are made again
                    return folder.run()
            warm_up = folder.warm_ups()
        else:
            state, history = self.start(), []
            warm_up = self._warm_up(folder, progress)
            if warm_up:
                # What meta-parameters mean is relative to the horizon, so that they need no change.
                vector = parameter_vector(warm_up[-1].trained)
                state = state._replace(vector=vector, best_vector=vector, round_vector=vector, finite_vector=vector)
        return self._run(state, history, folder, progress)._replace(warm_up=warm_up)

    def _warm_up(self, folder: RunFolder | None, progress: TrainingProgress) -> tuple[Run, ...]:
        """The runs at shorter horizons, each from the policy of the one before."""
        runs: list[Run] = []
        policy = self.family
        for settings in self.settings.of_warm_up():
            within = None if folder is None else folder.warm_up(settings.horizon)
            shorter = Trainer(self.problem, policy, self.estimator, settings, self.conditions, self.workers)
            if within is not None and not within.is_started:
                within.start(shorter.described(), shorter.provenance)
            runs.append(shorter.run(within, progress))
            policy = with_parameters(self.family, parameter_vector(runs[-1].trained))
        return tuple(runs)

    def _run(
        self, state: State, history: list[HistoryRow], folder: RunFolder | None, progress: TrainingProgress
    ) -> Run:
        """From a state to the end."""
        progress.begin(self.settings, state.iteration)
        try:
            with interruption() as interrupted:
                while state.iteration < self.settings.most_iterations:
                    validated = self._is_checked(state.iteration)
                    if state.iteration and state.iteration % self.settings.iterations == 0:
                        state, gains = self._round_gained(state)
                        if not gains:
                            progress.end(self.settings, state.iteration)
                            break
                    row, later = self._iterate(state)
                    history.append(row)
                    state = later
                    progress.update(self.settings, row, state)
                    if interrupted():
                        raise KeyboardInterrupt
                    if folder is not None and validated:
                        folder.save(state, history, self.provenance)
                state, end_regret = self._validated(state)
        except (KeyboardInterrupt, TrainingStopped):
            if folder is not None:
                folder.save(state, history, self.provenance)
            raise
        if folder is not None:
            folder.save(state, history, self.provenance)
        result = self._confirm(state, history, end_regret)
        if folder is not None:
            folder.finish(result)
        return result

    def _iterate(self, state: State) -> tuple[HistoryRow, State]:
        """One update; the row describes the policy before it."""
        measured = None
        if self._is_checked(state.iteration):
            state, measured = self._validated(state)
        policy = with_parameters(self.policy, state.vector)
        found = estimated_gradient(self.gradients, policy, self.batch.part(iteration=state.iteration))
        while not np.all(np.isfinite(found.mean)):
            state = self._taken_back(state, found.mean)
            policy = with_parameters(self.policy, state.vector)
            found = estimated_gradient(self.gradients, policy, self.batch.part(iteration=state.iteration))
        with jax.enable_x64(True):
            vector, optimizer = jax.device_get(
                self.ascent.step(state.vector, found.mean, found.fisher, state.optimizer)
            )
        self._check_finite("meta-parameter", vector, state.iteration)
        state = state._replace(finite_vector=state.vector, taken_back=0)
        row = HistoryRow(
            iteration=state.iteration,
            regret=found.regret,
            regret_standard_error=found.regret_standard_error,
            gradient_norm=float(np.linalg.norm(found.mean)),
            validation_regret=measured,
            meta_parameters=plain_meta_parameters(policy),
        )
        return row, state._replace(iteration=state.iteration + 1, vector=vector, optimizer=optimizer)

    def _taken_back(self, state: State, gradient: FloatArray) -> State:
        """Returns the state before the last step, with half of it, where that led to no finite gradient.

        The first gradient must be finite, and after some halvings the next one; else training stops.
        """
        step = state.vector - state.finite_vector
        if not has_trust(state.optimizer) or state.taken_back == MOST_TAKEN_BACK or not np.any(step):
            self._check_finite("gradient", gradient, state.iteration)
        return state._replace(
            vector=state.finite_vector + 0.5 * step,
            optimizer=with_less_trust(state.optimizer),
            taken_back=state.taken_back + 1,
        )

    def _round_gained(self, state: State) -> tuple[State, bool]:
        """Returns the state at the end of a round, and whether it gained beyond chance on validation episodes."""
        state, _ = self._validated(state)
        before, after = self._validation_regrets(state.round_vector), self._validation_regrets(state.best_vector)
        gain, error = mean_and_error(before - after)
        # The next round goes on from the best policy so far.
        return state._replace(vector=state.best_vector, round_vector=state.best_vector), gain > GOES_ON_Z * error

    def _try_optimizer(self) -> None:
        """One update on nothing: what is wrong with the optimizer's settings shows before anything is written."""
        try:
            with jax.enable_x64(True):
                state = self.start()
                size = state.vector.size
                moved, later = self.ascent.step(state.vector, np.ones(size), np.eye(size), state.optimizer)
                finite = np.all(np.isfinite(moved)) and all(
                    np.asarray(leaf).dtype.kind in "biuf" for leaf in jax.tree.leaves(later)
                )
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise BadInput(f"optimizer and learning_rate can't be used together as given: {reason:.200}") from None
        if not finite:
            raise BadInput("optimizer and learning_rate must make finite steps: check their arguments")

    def _is_checked(self, iteration: int) -> bool:
        """After a warm-up the first steps come first: they gain most, and can be judged later."""
        return iteration % self.settings.check_every == 0 and (iteration > 0 or self.settings.warm_up is None)

    def _validated(self, state: State) -> tuple[State, float]:
        """The state with its policy tried on the validation episodes, and the regret it had there.

        Where an optimizer has a trust region, a policy that is worse there than the best so far, beyond doubt, is taken
        back to it, and trusted steps are shortened.
        """
        if np.isinf(state.best_regret):  # none was tried before
            first = float(np.mean(self._validation_regrets(state.best_vector)))
            state = state._replace(best_regret=first)
        regrets = self._validation_regrets(state.vector)
        regret = float(np.mean(regrets))
        if regret < state.best_regret:
            return state._replace(best_vector=state.vector, best_regret=regret), regret
        if has_trust(state.optimizer) and not np.array_equal(state.vector, state.best_vector):
            worse = regrets - self._validation_regrets(state.best_vector)
            if np.mean(worse) > HURTS_Z * np.std(worse) / np.sqrt(len(worse)):
                state = state._replace(vector=state.best_vector, optimizer=with_less_trust(state.optimizer))
        return state, regret

    def _validation_regrets(self, vector: FloatArray) -> FloatArray:
        return self.validated(np.asarray(vector, np.float64).tobytes())

    def _play_validation(self, vector: bytes) -> FloatArray:
        policy = with_parameters(self.policy, np.frombuffer(vector))
        return np.asarray(simulated(self.simulations, policy, self.selection).regret)

    def _confirm(self, state: State, history: list[HistoryRow], end_regret: float) -> Run:
        """Compares the selected policy with plain Thompson sampling and its rivals, on episodes that selected nothing.

        The policy of the run is the one of the least regret there.
        """
        trained, last = (with_parameters(self.policy, vector) for vector in (state.best_vector, state.vector))
        found = Rivals({}, {}, {})
        if self.settings.rivals:
            found = quick_rivals(self.problem, self.settings.horizon, self.conditions)
        policies: dict[str, Policy] = {PLAIN: Thompson(), TRAINED: trained, **found.ready}
        comparison = compare(
            self.problem,
            policies,
            reference=TRAINED,
            bound=None,
            engine="jax" if self.settings.engine == "jax" else "auto",
            workers=self.workers,
            **self.selection.part(iteration=CONFIRMATION).options,
        )
        chosen = comparison.best
        gain, error = comparison.difference(PLAIN, chosen)
        end = HistoryRow(state.iteration, None, None, None, end_regret, plain_meta_parameters(last))
        return Run(
            policy={**policies, **found.built}[chosen],
            chosen=chosen,
            gain=gain,
            gain_standard_error=error,
            trained=trained,
            last=last,
            start=self.policy,
            history=[*history, end],
            comparison=comparison,
            left_out={name: str(refusal) for name, refusal in found.left_out.items()},
            provenance=self.provenance,
            problem=self.problem,
            conditions=self.conditions,
        )

    def _check_finite(self, what: str, values: FloatArray, iteration: int) -> None:
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            raise TrainingStopped(
                f"the {what} of {self.names[wrong[0]]} is {values[wrong[0]]} at iteration {iteration}:"
                " lower learning_rate, set clip_norm, or use precision='float64'"
            )
