"""What a policy did on common episodes: every episode's regret, and all that is said about it, computed once."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
import pydantic

from tsgrad.arrays import FloatArray
from tsgrad.checks import check_array
from tsgrad.evaluate.statistics import QUANTILES, Gain, check_regrets, mean_and_error, paired_gains, worst_decile
from tsgrad.simulation import Episodes

# How arrays are read from a file, where they are lists, and quantiles a table.
Numbers = Annotated[FloatArray, pydantic.PlainValidator(lambda value: check_array("numbers", value))]
Quantiles = Annotated[
    FloatArray,
    pydantic.PlainValidator(lambda value: check_array("quantiles", [value[str(level)] for level in QUANTILES])),
]


class Played(NamedTuple):
    """What a policy did over N episodes, in however many pieces they were played."""

    regret: FloatArray  # [N]
    regret_over_time: FloatArray  # [T], up to each step, averaged over episodes
    pulls: FloatArray | None  # [K], averaged over episodes; None for infinite sets of arms

    @classmethod
    def of(cls, episodes: Episodes) -> "Played":
        """What was simulated."""
        return cls(episodes.regret, episodes.regret_over_time, episodes.pulls)

    def and_then(self, more: "Played") -> "Played":
        """These episodes and those that follow them."""
        share = len(self.regret) / (len(self.regret) + len(more.regret))
        return Played(
            np.concatenate([self.regret, more.regret]),
            share * self.regret_over_time + (1 - share) * more.regret_over_time,
            None if self.pulls is None or more.pulls is None else share * self.pulls + (1 - share) * more.pulls,
        )


class PolicyResult(NamedTuple):
    """One policy of a comparison."""

    regret: float
    standard_error: float
    gain: Gain | None  # over the reference, paired episode by episode; the reference itself has none
    quantiles: Quantiles  # [3], of regret over episodes: median, 90%, 99%
    worst_decile: float  # mean regret over the tenth of the episodes in which it is largest
    regret_over_time: Numbers  # [T], up to each step
    pulls: Numbers | None  # [K], per episode; None for infinite sets of arms
    microseconds: float | None = None  # a decision, on the engine that played it, once compiled; where it was asked for
    trained_for: int | None = None  # its horizon in training, where it was played for another

    def data(self) -> dict[str, Any]:
        """As plain data; what is not known of a policy, and need not be, is left out."""
        plain = self._asdict() | {
            "gain": None if self.gain is None else self.gain._asdict(),
            "quantiles": dict(zip(map(str, QUANTILES), self.quantiles.tolist(), strict=True)),
            "regret_over_time": self.regret_over_time.tolist(),
            "pulls": None if self.pulls is None else self.pulls.tolist(),
        }
        return {name: value for name, value in plain.items() if name not in _OPTIONAL or value is not None}


_OPTIONAL = ("microseconds", "trained_for")


def policy_results(
    played: Mapping[str, Played],
    *,
    reference: str,
    confidence: float,
    microseconds: Mapping[str, float] | None = None,
    trained_for: Mapping[str, int] | None = None,
) -> dict[str, PolicyResult]:
    """What is said about policies that played the same episodes; gains are over the reference.

    >>> sample = {name: Played(np.array(regret), np.zeros(1), None) for name, regret in (("a", [3, 5]), ("b", [2, 1]))}
    >>> found = policy_results(sample, reference="a", confidence=0.95)
    >>> found["b"].regret, found["b"].gain.mean, found["a"].gain
    (1.5, 2.5, None)
    """
    for name, sample in played.items():
        check_regrets(f"policy {name!r}", sample.regret)
    others = {name: sample.regret for name, sample in played.items() if name != reference}
    gains = paired_gains(played[reference].regret, others, confidence)
    return {
        name: PolicyResult(
            *mean_and_error(sample.regret),
            gain=gains.get(name),
            quantiles=np.quantile(sample.regret, QUANTILES),
            worst_decile=worst_decile(sample.regret),
            regret_over_time=sample.regret_over_time,
            pulls=sample.pulls,
            microseconds=None if microseconds is None else microseconds[name],
            trained_for=None if trained_for is None else trained_for.get(name),
        )
        for name, sample in played.items()
    }
