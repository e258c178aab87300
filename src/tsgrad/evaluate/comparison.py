"""Comparisons: policies on exactly the same episodes."""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import pydantic
from rich.table import Table

from tsgrad.artefact import read_json, write_json, write_text
from tsgrad.checks import BadInput, check_array, check_choice, check_count, check_flag, check_share, check_type
from tsgrad.evaluate import comparison_formats as formats
from tsgrad.evaluate.bounds import BOUND_KINDS, BoundKind, RegretBound, cheap_bound, regret_bound
from tsgrad.evaluate.result import Numbers, Played, PolicyResult, policy_results
from tsgrad.evaluate.statistics import Gain, mean_and_error, paired_gains
from tsgrad.evaluate.tables import as_text, csv_text
from tsgrad.policies import Policy, Saved
from tsgrad.problems import AnyProblem
from tsgrad.simulation import (
    BLOCK,
    LOCAL,
    Engine,
    EngineName,
    Workers,
    Workload,
    WorkloadOptions,
    check_workers,
    ready_for,
    simulated,
    simulation_engine,
)
from tsgrad.streams import Purpose

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIDENCE = 0.95
_TIMED_EPISODES = 4 * BLOCK


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


def compare(
    problem: AnyProblem,
    policies: Mapping[str, Policy | Saved],
    *,
    reference: str | None = None,
    confidence: float = CONFIDENCE,
    bound: BoundKind | Literal["auto"] | None = "auto",
    to_precision: float | None = None,
    most_episodes: int = 1_000_000,
    timing: bool = False,
    engine: EngineName = "auto",
    workers: Workers = LOCAL,
    **workload: Unpack[WorkloadOptions],
) -> Comparison:
    """Plays every policy on the same episodes.

    Args:
        problem: what is played.
        policies: what plays it, by name; what `tsgrad.load` gives may be handed over whole, and one that was trained
            for another horizon is then marked.
        reference: the policy that gains are measured against, by default the first.
        confidence: of the simultaneous confidence intervals of all gains.
        bound: a kind of `tsgrad.regret_bound`; "auto" takes the tightest that costs seconds at most, None takes none.
        to_precision: where given, episodes are added until all gains are known to plus or minus that much.
        most_episodes: how many are played at most with `to_precision`.
        timing: whether decisions are timed too, by playing up to 1,024 episodes again, in this process.
        engine: "jax", "native", or "auto" for the fastest that can run each policy.
        workers: who computes: this process, or `tsgrad.RayWorkers`; the result is the same.
        workload: which episodes: `horizon`, `episodes`, `seed`, and the other fields of `Workload`.

    Returns:
        Regrets, paired gains with intervals, quantiles, pulls and regret over time of every policy.

    Raises:
        BadInput: if a policy can't play the problem, or `reference` is not one of them.

    With `to_precision`, `episodes` is the start, rounded up to whole blocks of 256, and at most as many again are added
    at a time. Stopping looks at how wide the intervals are and never at where they lie, so that their coverage is right
    in the limit of small widths (Chow and Robbins, 1965); stopping once a gain is significant would not be.

        >>> from tsgrad.policies import ReshapedThompson, Thompson
        >>> from tsgrad.problems import GaussianBandit
        >>> problem = GaussianBandit(arms=3)
        >>> policies = {"plain": Thompson(), "untrained": ReshapedThompson(problem)}
        >>> print(compare(problem, policies, horizon=10, episodes=1000, seed=1).difference("plain", "untrained"))
        (0.0, 0.0)

    """
    start = Workload.of(Purpose.EVALUATION, workload)
    check_count("episodes", start.episodes, least=2)
    check_type("policies", policies, Mapping, remedy='such as {"plain": tsgrad.Thompson()}')
    check_flag("timing", timing)
    check_workers(workers)
    if not policies:
        raise BadInput("policies must name at least one policy, got none")
    reference = next(iter(policies)) if reference is None else check_choice("reference", reference, policies)
    check_share("confidence", confidence)
    if bound is not None:
        check_choice("bound", bound, ("auto", *BOUND_KINDS))
    if to_precision is not None:
        start = start.part(episodes=_checked_start(start.episodes, to_precision, most_episodes, policies))
    saved = {name: given for name, given in policies.items() if isinstance(given, Saved)}
    ready = {
        name: ready_for(problem, given.policy if isinstance(given, Saved) else given, start)
        for name, given in policies.items()
    }
    engine_of = partial(simulation_engine, problem, engine=engine, conditions=start.conditions)
    engines = {name: engine_of(policy, workers=workers) for name, policy in ready.items()}
    limit = _limit(problem, start, bound, workers)

    def play(first: int, number: int) -> dict[str, Played]:
        part = start.part(first_episode=start.first_episode + first, episodes=number)
        return {name: Played.of(simulated(engines[name], policy, part)) for name, policy in ready.items()}

    played = play(0, start.episodes)
    while to_precision is not None:
        known = len(played[reference].regret)
        wanted = min(_episodes_wanted(played, reference, confidence, to_precision), most_episodes)
        if wanted <= known:
            break
        more = play(known, wanted - known)
        played = {name: sample.and_then(more[name]) for name, sample in played.items()}
    cost = None
    if timing:
        cost = {name: _microseconds(engine_of(policy), policy, start) for name, policy in ready.items()}
    return Comparison.of(
        played,
        horizon=start.horizon,
        seed=start.seed,
        reference=reference,
        confidence=confidence,
        bound=limit,
        to_precision=to_precision,
        microseconds=cost,
        trained_for={
            name: given.horizon for name, given in saved.items() if given.horizon not in (None, start.horizon)
        },
    )


def _checked_start(episodes: int, to_precision: float, most_episodes: int, policies: Mapping[str, Any]) -> int:
    """How many episodes come first, in whole blocks, where more may follow."""
    if check_array("to_precision", to_precision, above=0).ndim:
        raise BadInput(f"to_precision must be one number, got {to_precision!r:.80}")
    check_count("most_episodes", most_episodes, least=episodes)
    if len(policies) < 2:
        raise BadInput(f"to_precision needs a policy beside the reference, got {', '.join(policies)} alone")
    return min(-(-episodes // BLOCK) * BLOCK, most_episodes)


def _episodes_wanted(played: Mapping[str, Played], reference: str, confidence: float, to_precision: float) -> int:
    """How many episodes the wanted precision takes by what is known so far; twice as many as now at most."""
    known = len(played[reference].regret)
    others = {name: sample.regret for name, sample in played.items() if name != reference}
    gains = paired_gains(played[reference].regret, others, confidence)
    widest = max(gain.half_width for gain in gains.values())
    if widest <= to_precision:
        return known
    blocks = -(-known * min((widest / to_precision) ** 2, 2.0) // BLOCK)
    return max(int(blocks) * BLOCK, known + BLOCK)


def _limit(
    problem: AnyProblem, workload: Workload, kind: BoundKind | Literal["auto"] | None, workers: Workers
) -> RegretBound | None:
    """The regret that no policy can go below. Bounds are those of episodes in which all arms are there."""
    if kind is None or (kind == "auto" and not workload.conditions.told(workload.horizon).trivial):
        return None
    if kind == "auto":
        return cheap_bound(problem, horizon=workload.horizon, seed=workload.seed, workers=workers)
    return regret_bound(problem, horizon=workload.horizon, kind=kind, seed=workload.seed, workers=workers)


def _microseconds(engine: Engine, policy: Policy, workload: Workload) -> float:
    """Wall-clock microseconds per decision, the fastest of up to three runs of what is compiled by now."""
    timed = workload.part(episodes=min(workload.episodes, _TIMED_EPISODES))
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 0.2:
        start = time.perf_counter()
        simulated(engine, policy, timed)
        seconds.append(time.perf_counter() - start)
    return 1e6 * min(seconds) / (timed.episodes * timed.horizon)
