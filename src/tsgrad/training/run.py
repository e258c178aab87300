"""What training gives back."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tsgrad.artefact import write_json
from tsgrad.evaluate.digits import common_decimals
from tsgrad.policies import SamplingPolicy
from tsgrad.problems import AnyProblem
from tsgrad.registry import registered_name
from tsgrad.simulation import EVERY_USER, Conditions, check_playable, policy_content

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class HistoryRow(NamedTuple):
    """The policy after `iteration` updates: how it did, and where it stood."""

    iteration: int
    regret: float | None  # on its training batch; None after the last update, which has none
    regret_standard_error: float | None
    gradient_norm: float | None
    validation_regret: float | None  # where it was measured
    meta_parameters: dict[str, Any]  # in the paper's units, as plain data


def training_curve(history: Sequence[HistoryRow]) -> list[tuple[int, float]]:
    """Iterations with the regret on their training batches, where there is one.

    >>> rows = [HistoryRow(0, 9.0, 0.1, 1.0, 8.5, {}), HistoryRow(1, 8.0, 0.1, 1.0, None, {})]
    >>> training_curve(rows), validation_curve(rows)
    ([(0, 9.0), (1, 8.0)], [(0, 8.5)])
    """
    return [(row.iteration, row.regret) for row in history if row.regret is not None]


def validation_curve(history: Sequence[HistoryRow]) -> list[tuple[int, float]]:
    """Iterations with the regret on validation episodes, where it was measured."""
    return [(row.iteration, row.validation_regret) for row in history if row.validation_regret is not None]


class Run(NamedTuple):
    """A finished training run. Prints as a sentence.

    Attributes:
        policy: the policy selected on validation episodes, or the start if it was not better than that on fresh ones.
        last: the policy at the end of training.
        start: the policy that training started from.
        history: one record per iteration: regret, norm of the gradient, meta-parameters.
        improved: whether the policy selected is better than the start.
        gain: how much less regret it has than the start, paired, on episodes that took no part in training or
            selection.
        gain_standard_error: of the gain.
        start_regret: the regret of the start on the same episodes.
        provenance: what made the run: version, seed, engine, settings.
        problem: what was played.
        conditions: under which it was played.
        warm_up: the runs at shorter horizons that it went on from, the shortest first.

    """

    policy: SamplingPolicy
    last: SamplingPolicy
    start: SamplingPolicy
    history: list[HistoryRow]
    improved: bool
    gain: float
    gain_standard_error: float
    start_regret: float
    provenance: dict[str, Any]
    problem: AnyProblem
    conditions: Conditions = EVERY_USER
    warm_up: tuple["Run", ...] = ()

    def save(self, path: str | Path, *, arms: Sequence[str] | None = None) -> None:
        """Writes the policy with all that deploying it needs; `tsgrad.load` reads it back, `tsgrad serve` plays it.

        Args:
            path: of the file, JSON.
            arms: the names of the arms; their numbers unless given.

        Raises:
            BadInput: if `arms` are not as many different names as there are arms; or if the run is for simulation
                alone, as with drifting arms or proportional allocation. To compare its policy later, train with `out`,
                or save `run.policy`.

        """
        content = self.content(arms=arms)
        check_playable(content)
        write_json(path, "policy", content)

    def content(
        self, *, arms: Sequence[str] | None = None, lineage: Sequence[dict[str, Any]] | None = None
    ) -> dict[str, Any]:
        """What the policy file holds; `lineage` is what the policy was trained from, if more than the run's start."""
        known = {"regret": self.start_regret, "regret_of_start": self.start_regret}
        if self.improved:
            known["regret"] -= self.gain
            known |= {"gain": self.gain, "gain_standard_error": self.gain_standard_error}
        start = {"policy": registered_name(type(self.start)), **self.provenance}
        content = policy_content(
            self.policy,
            self.problem,
            self.provenance["horizon"],
            conditions=self.conditions,
            arms=arms,
            lineage=lineage or [start],
            expected=known,
        )
        return {**self.provenance, **content}

    def plot(self) -> "Figure":
        """A matplotlib figure: regret during training, and the policy that was selected."""
        from tsgrad.report.notebook import run_figure

        return run_figure(self)

    def _repr_html_(self) -> str:
        from tsgrad.report.notebook import run_html

        return run_html(self)

    def __repr__(self) -> str:
        return f"<Run of {len(self.history) - 1} iterations. {self}>"

    def __str__(self) -> str:
        before, gain, error = self.start_regret, self.gain, self.gain_standard_error
        digits = max(3, common_decimals([error]))
        spread = f"{abs(gain):.{digits}f} (s.e. {error:.{digits}f})"
        if not self.improved and gain == error == 0:
            return f"No gain: nothing beat the start, regret {before:.3f}, on validation; the start is returned."
        if not self.improved:
            return (
                f"No gain: the best policy seen has {spread} {'less' if gain > 0 else 'more'} regret than the start,"
                f" {before:.{digits}f}; the start is returned."
            )
        return (
            f"Regret {before:.{digits}f} before, {before - gain:.{digits}f} after: a paired gain of {spread}, "
            f"{gain / before:.1%}."
        )
