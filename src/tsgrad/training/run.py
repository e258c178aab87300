"""What training gives back."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tsgrad.artefact import write_json
from tsgrad.evaluate import PLAIN, Comparison
from tsgrad.evaluate.digits import common_decimals
from tsgrad.policies import Policy, SamplingPolicy
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


TRAINED = "trained"  # in comparisons
CHANCE_Z = 2.0  # standard errors within which two policies are called equally good


class Run(NamedTuple):
    """A finished training run. Prints as a few sentences.

    Attributes:
        policy: the policy of the least regret on fresh episodes: the one that training selected on validation episodes,
            or a rival that needs no training.
        chosen: its name in the comparison: "trained", or that of the rival.
        gain: how much less regret it has than plain Thompson sampling, paired, on these episodes.
        gain_standard_error: of the gain.
        trained: the policy that training selected.
        last: the policy at the end of training.
        start: the policy that training started from.
        history: one record per iteration: regret, norm of the gradient, meta-parameters.
        comparison: plain Thompson sampling ("TS"), the trained policy and its rivals on episodes that took no part in
            training or selection.
        left_out: the rivals that were not compared, with the reason.
        provenance: what made the run: version, seed, engine, settings.
        problem: what was played.
        conditions: under which it was played.
        warm_up: the runs at shorter horizons that it went on from, the shortest first.

    """

    policy: Policy
    chosen: str
    gain: float
    gain_standard_error: float
    trained: SamplingPolicy
    last: SamplingPolicy
    start: SamplingPolicy
    history: list[HistoryRow]
    comparison: Comparison
    left_out: dict[str, str]
    provenance: dict[str, Any]
    problem: AnyProblem
    conditions: Conditions = EVERY_USER
    warm_up: tuple["Run", ...] = ()

    @property
    def plain_regret(self) -> float:
        """The regret of plain Thompson sampling."""
        return self.comparison.regret[PLAIN]

    @property
    def improved(self) -> bool:
        """Says if the policy of the run is better than plain Thompson sampling beyond chance."""
        return self.gain > CHANCE_Z * self.gain_standard_error

    @property
    def best_rival(self) -> str:
        """The best policy that needs no training."""
        regret = self.comparison.regret
        return min((name for name in regret if name != TRAINED), key=regret.__getitem__)

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
        known = {
            "regret": self.comparison.regret[self.chosen],
            "regret_of_thompson": self.plain_regret,
            "gain": self.gain,
            "gain_standard_error": self.gain_standard_error,
        }
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
        regret, error = self.comparison.regret, self.comparison.standard_error
        digits = max(3, common_decimals([error[TRAINED]]))

        def number(value: float) -> str:
            return f"{value:.{digits}f}"

        plain, gain = self.comparison.gains[PLAIN], -self.comparison.gains[PLAIN].mean
        said = (
            f"Regret {number(regret[PLAIN])} of plain Thompson sampling, {number(regret[TRAINED])} of the trained"
            f" policy: a paired gain of {number(gain)} (s.e. {number(plain.standard_error)})"
        )
        said += f", {gain / regret[PLAIN]:.1%}." if regret[PLAIN] > 0 else "."
        rival = self.best_rival
        behind = self.comparison.gains[rival]  # of the rival over the trained policy
        if rival != PLAIN:
            apart = f"{number(abs(behind.mean))} (s.e. {number(behind.standard_error)})"
            said += f" Of what needs no training {rival} is best, {number(regret[rival])}: "
            if abs(behind.mean) <= CHANCE_Z * behind.standard_error:
                said += f"as good within chance, {apart} {'below' if behind.mean > 0 else 'above'}."
            else:
                said += f"{apart} {'below' if behind.mean > 0 else 'above'} the trained policy."
        if self.chosen != TRAINED:
            said += f" The policy of this run is {self.chosen}."
        return said
