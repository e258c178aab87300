"""A comparison: what policies did on exactly the same episodes, and all that is said and written about it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pydantic
from rich.table import Table

from tsgrad.artefact import read_json, write_json, write_text
from tsgrad.checks import BadInput, check_choice
from tsgrad.evaluate import comparison_formats as formats
from tsgrad.evaluate.bounds import RegretBound
from tsgrad.evaluate.result import Numbers, Played, PolicyResult, policy_results
from tsgrad.evaluate.statistics import Gain, mean_and_error, paired_gains
from tsgrad.evaluate.tables import as_text, csv_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIDENCE = 0.95


class Comparison(NamedTuple):
    """Policies on common episodes. Prints as a table; differences are paired, episode by episode.

    Attributes:
        policies: everything that was computed about each policy, by name.
        horizon: how many steps an episode has.
        episodes: how many episodes were played.
        seed: which episodes.
        reference: the policy that gains are measured against.
        confidence: of the simultaneous confidence intervals.
        bound: regret that no policy can go below, where the problem has such a bound.
        to_precision: the half width of the intervals that was asked for.
        regrets: the regret of every episode, by policy; empty for a comparison that was read from a file.

    """

    policies: dict[str, PolicyResult]
    horizon: int
    episodes: int
    seed: int
    reference: str  # the policy that gains are over
    confidence: float  # of the simultaneous confidence intervals
    bound: RegretBound | None  # regret that no policy can go below, where the problem has such a bound
    to_precision: float | None  # the half width of the intervals that was asked for
    regrets: dict[str, Numbers]  # [N] each, of every episode; none where the comparison comes from a file

    @classmethod
    def of(
        cls,
        played: Mapping[str, Played],
        *,
        horizon: int,
        seed: int,
        reference: str,
        confidence: float = CONFIDENCE,
        bound: RegretBound | None = None,
        to_precision: float | None = None,
        microseconds: Mapping[str, float] | None = None,
        trained_for: Mapping[str, int] | None = None,
    ) -> "Comparison":
        """What policies did on the same episodes, as a comparison of them."""
        return cls(
            policy_results(
                played,
                reference=reference,
                confidence=confidence,
                microseconds=microseconds,
                trained_for=trained_for,
            ),
            horizon,
            len(played[reference].regret),
            seed,
            reference,
            confidence,
            bound,
            to_precision,
            {name: sample.regret for name, sample in played.items()},
        )

    @property
    def names(self) -> list[str]:
        """The policies compared."""
        return list(self.policies)

    @property
    def best(self) -> str:
        """The policy of the least regret."""
        return min(self.policies, key=lambda name: self.policies[name].regret)

    @property
    def regret(self) -> dict[str, float]:
        """Mean regret of each policy."""
        return {name: result.regret for name, result in self.policies.items()}

    @property
    def standard_error(self) -> dict[str, float]:
        """Of each policy's mean regret."""
        return {name: result.standard_error for name, result in self.policies.items()}

    @property
    def gains(self) -> dict[str, Gain]:
        """By how much each other policy's regret is below the reference's, with simultaneous confidence intervals."""
        return {name: result.gain for name, result in self.policies.items() if result.gain is not None}

    def difference(self, first: str, second: str) -> tuple[float, float]:
        """Mean and standard error of regret(first) - regret(second), episode by episode."""
        for name in (first, second):
            check_choice("policy", name, self.policies)
        if not self.regrets:
            raise BadInput("a comparison read from a file has no single episodes: compare again for a difference")
        return mean_and_error(self.regrets[first] - self.regrets[second])

    def without(self, name: str) -> "Comparison":
        """The comparison of the other policies, on the same episodes; not for the reference."""
        regrets = {other: regret for other, regret in self.regrets.items() if other != name}
        others = {other: regret for other, regret in regrets.items() if other != self.reference}
        gains = paired_gains(regrets[self.reference], others, self.confidence)
        kept = {other: self.policies[other]._replace(gain=gains.get(other)) for other in regrets}
        return self._replace(policies=kept, regrets=regrets)

    def renamed(self, names: Mapping[str, str]) -> "Comparison":
        """The same comparison under other names."""
        return self._replace(
            policies={names[name]: result for name, result in self.policies.items()},
            regrets={names[name]: regret for name, regret in self.regrets.items()},
            reference=names[self.reference],
        )

    def table(self) -> Table:
        """Regrets, gains over the reference, and the regret that no policy can go below."""
        return formats.table(self)

    def details(self) -> Table:
        """How regrets are spread over episodes, where the pulls went, and what a decision costs if that was timed."""
        return formats.details(self)

    def csv(self) -> str:
        """A row for each policy, every number to its last digit."""
        return csv_text(formats.records(self))

    def episodes_csv(self) -> str:
        """A row for each episode with the regret of each policy: what everything else is computed from."""
        return formats.episodes_csv(self)

    def latex(self) -> str:
        r"""A `tabular` for a paper, with the rules of booktabs."""
        return formats.latex(self)

    def data(self) -> dict[str, Any]:
        """All but the single episodes, as plain data; `from_data` reads it."""
        kept = {name: value for name, value in self._asdict().items() if name != "regrets"}
        return kept | {
            "policies": {name: result.data() for name, result in self.policies.items()},
            "bound": None if self.bound is None else self.bound._asdict(),
        }

    @classmethod
    def from_data(cls, data: Any) -> "Comparison":
        """What `data` described; it is checked."""
        try:
            found: Comparison = _READER.validate_python({**data, "regrets": {}})
        except (pydantic.ValidationError, KeyError, TypeError):
            raise BadInput("a comparison is damaged, or of another version: compare again") from None
        curves = {len(result.regret_over_time) for result in found.policies.values()}
        if found.reference not in found.policies or curves != {found.horizon}:
            raise BadInput("a comparison is damaged: its reference or its curves are not there; compare again")
        return found

    def to_csv(self, path: str | Path) -> None:
        """Writes `csv` to a file."""
        write_text(path, self.csv())

    def to_episodes_csv(self, path: str | Path) -> None:
        """Writes `episodes_csv` to a file."""
        write_text(path, self.episodes_csv())

    def to_latex(self, path: str | Path) -> None:
        """Writes `latex` to a file."""
        write_text(path, self.latex())

    def to_json(self, path: str | Path) -> None:
        """Writes `data` to a file, with the version that made it."""
        write_json(path, "comparison", {"comparison": self.data()})

    @classmethod
    def from_json(cls, path: str | Path) -> "Comparison":
        """Reads what `to_json` wrote."""
        return cls.from_data(read_json(path, "comparison").get("comparison"))

    def plot(self) -> "Figure":
        """A matplotlib figure: policies by regret with 95% confidence intervals, and the limit where it is known."""
        from tsgrad.report.notebook import comparison_figure

        return comparison_figure(self)

    def _repr_html_(self) -> str:
        from tsgrad.report.notebook import comparison_html

        return comparison_html(self)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return as_text(self.table(), self.details())


_READER = pydantic.TypeAdapter(Comparison, config=pydantic.ConfigDict(strict=True, allow_inf_nan=False))
