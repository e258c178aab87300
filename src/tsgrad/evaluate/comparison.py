"""Comparisons: policies on exactly the same episodes."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from tsgrad.arrays import FloatArray
from tsgrad.artefact import write_json, write_whole
from tsgrad.checks import BadInput, check_array, check_choice, check_count
from tsgrad.evaluate import comparison_formats as formats
from tsgrad.evaluate.bounds import BOUND_KINDS, BoundKind, RegretBound, cheap_bound, regret_bound
from tsgrad.evaluate.statistics import QUANTILES, Gain, mean_and_error, paired_gains, worst_decile
from tsgrad.policies import Policy, prepared
from tsgrad.problems import AnyProblem
from tsgrad.simulation import BLOCK, CHUNK, EngineName, Episodes, Precision, simulate
from tsgrad.streams import Purpose

_TIMED_EPISODES = 4 * BLOCK


class Comparison(NamedTuple):
    """Policies on common episodes. Prints as a table; differences are paired, episode by episode."""

    episodes: dict[str, Episodes]
    horizon: int
    seed: int
    reference: str  # the policy that gains are over
    confidence: float  # with which all intervals hold at once
    microseconds: dict[str, float]  # a decision, on the engine that played it, once it is compiled
    bound: RegretBound | None  # regret that no policy can go below, where the problem has such a bound
    to_precision: float | None  # the half width of the intervals that was asked for

    @property
    def names(self) -> list[str]:
        """The policies compared."""
        return list(self.episodes)

    @property
    def episode_count(self) -> int:
        """How many episodes every policy played."""
        return len(self.episodes[self.reference].regret)

    @property
    def regret(self) -> dict[str, float]:
        """Mean regret of each policy."""
        return {name: float(np.mean(result.regret)) for name, result in self.episodes.items()}

    @property
    def standard_error(self) -> dict[str, float]:
        """Of each policy's mean regret."""
        return {name: mean_and_error(result.regret)[1] for name, result in self.episodes.items()}

    @property
    def gains(self) -> dict[str, Gain]:
        """By how much each other policy's regret is below the reference's; intervals hold for all at once."""
        others = {name: result.regret for name, result in self.episodes.items() if name != self.reference}
        return paired_gains(self.episodes[self.reference].regret, others, self.confidence)

    @property
    def regret_quantiles(self) -> dict[str, FloatArray]:
        """Median, 90% and 99% quantile of each policy's regret over episodes, [3]."""
        return {name: np.quantile(result.regret, QUANTILES) for name, result in self.episodes.items()}

    @property
    def worst_decile(self) -> dict[str, float]:
        """Mean regret of each policy over the tenth of the episodes in which it loses most."""
        return {name: worst_decile(result.regret) for name, result in self.episodes.items()}

    @property
    def regret_over_time(self) -> dict[str, FloatArray]:
        """What each policy had lost up to each step, [T]."""
        return {name: result.regret_over_time for name, result in self.episodes.items()}

    @property
    def pulls(self) -> dict[str, FloatArray | None]:
        """How often each policy pulled each arm in an episode, [K]; None for infinite sets of arms."""
        return {name: result.pulls for name, result in self.episodes.items()}

    def difference(self, first: str, second: str) -> tuple[float, float]:
        """Mean and standard error of regret(first) - regret(second), episode by episode."""
        for name in (first, second):
            check_choice("policy", name, self.episodes)
        return mean_and_error(self.episodes[first].regret - self.episodes[second].regret)

    def table(self) -> Table:
        """Regrets, gains over the reference, and the regret that no policy can go below."""
        return formats.table(self)

    def details(self) -> Table:
        """How regrets are spread over episodes, what a decision costs, and where the pulls went."""
        return formats.details(self)

    def csv(self) -> str:
        """A row for each policy, every number to its last digit."""
        return formats.csv_text(formats.rows(self))

    def episodes_csv(self) -> str:
        """A row for each episode with the regret of each policy: what everything else is computed from."""
        return formats.episodes_csv(self)

    def latex(self) -> str:
        r"""A `tabular` for a paper, with the rules of booktabs."""
        return formats.latex(self)

    def data(self) -> dict[str, Any]:
        """All but the single episodes, as plain data."""
        return formats.data(self)

    def to_csv(self, path: str | Path) -> None:
        """Writes `csv` to a file."""
        _write(path, self.csv())

    def to_episodes_csv(self, path: str | Path) -> None:
        """Writes `episodes_csv` to a file."""
        _write(path, self.episodes_csv())

    def to_latex(self, path: str | Path) -> None:
        """Writes `latex` to a file."""
        _write(path, self.latex())

    def to_json(self, path: str | Path) -> None:
        """Writes `data` to a file, with the version that made it."""
        write_json(path, "comparison", self.data())

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        console = Console(width=110, color_system=None)
        with console.capture() as capture:
            console.print(self.table())
            console.print(self.details())
        return capture.get().rstrip()


def _write(path: str | Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))


def compare(
    problem: AnyProblem,
    policies: Mapping[str, Policy],
    *,
    horizon: int,
    episodes: int,
    seed: int,
    reference: str | None = None,
    confidence: float = 0.95,
    bound: BoundKind | Literal["auto"] | None = "auto",
    to_precision: float | None = None,
    most_episodes: int = 1_000_000,
    purpose: Purpose = Purpose.EVALUATION,
    iteration: int = 0,
    engine: EngineName = "auto",
    precision: Precision = "float32",
    chunk: int = CHUNK,
) -> Comparison:
    """Plays every policy on the same episodes.

    Gains are over `reference`, the first policy unless told. `bound` is a kind of `tsgrad.regret_bound`; "auto" takes
    the tightest that costs seconds at most, None leaves it out.

    With `to_precision`, episodes are added, as many again at most, until all gains are known to plus or minus that much
    or `most_episodes` are reached; `episodes`, rounded up to whole blocks of 256, are the start. Stopping looks at how
    wide the intervals are and never at where they lie, so that their coverage is right in the limit of small widths
    (Chow and Robbins, 1965); stopping once a gain is significant would not be.

        >>> from tsgrad.policies import ReshapedThompson, Thompson
        >>> from tsgrad.problems import GaussianBandit
        >>> problem = GaussianBandit(arms=3)
        >>> policies = {"plain": Thompson(), "untrained": ReshapedThompson(problem)}
        >>> print(compare(problem, policies, horizon=10, episodes=1000, seed=1).difference("plain", "untrained"))
        (0.0, 0.0)
    """
    horizon = check_count("horizon", horizon, least=1)
    episodes = check_count("episodes", episodes, least=2)
    if not policies:
        raise BadInput("policies must name at least one policy, got none")
    reference = next(iter(policies)) if reference is None else check_choice("reference", reference, policies)
    if not (isinstance(confidence, float) and 0 < confidence < 1):
        raise BadInput(f"confidence must be between 0 and 1, got {confidence!r}")
    if bound is not None:
        check_choice("bound", bound, ("auto", *BOUND_KINDS))
    if to_precision is not None:
        episodes = _checked_start(episodes, to_precision, most_episodes, policies)
    ready = {name: prepared(policy, problem, horizon) for name, policy in policies.items()}
    where: dict[str, Any] = {
        "horizon": horizon,
        "seed": seed,
        "purpose": purpose,
        "iteration": iteration,
        "engine": engine,
        "precision": precision,
        "chunk": chunk,
    }
    if bound is None:
        limit = None
    elif bound == "auto":
        limit = cheap_bound(problem, horizon=horizon, seed=seed)
    else:
        limit = regret_bound(problem, horizon=horizon, kind=bound, seed=seed)

    def play(first: int, number: int) -> dict[str, Episodes]:
        return {
            name: simulate(problem, policy, first_episode=first, episodes=number, **where)
            for name, policy in ready.items()
        }

    result = Comparison(play(0, episodes), horizon, seed, reference, confidence, {}, limit, to_precision)
    while to_precision is not None and result.episode_count < most_episodes:
        known = result.episode_count
        wanted = _episodes_wanted(result, to_precision)
        if wanted <= known:
            break
        more = play(known, min(wanted, most_episodes) - known)
        result = result._replace(episodes={name: _joined(result.episodes[name], more[name]) for name in ready})
    cost = {
        name: _microseconds(problem, policy, {**where, "episodes": min(episodes, _TIMED_EPISODES)})
        for name, policy in ready.items()
    }
    return result._replace(microseconds=cost)


def _checked_start(episodes: int, to_precision: float, most_episodes: int, policies: Mapping[str, Policy]) -> int:
    """How many episodes come first, in whole blocks, where more may follow."""
    check_array("to_precision", to_precision, above=0)
    check_count("most_episodes", most_episodes, least=episodes)
    if len(policies) < 2:
        raise BadInput(f"to_precision needs a policy beside the reference, got {', '.join(policies)} alone")
    return min(-(-episodes // BLOCK) * BLOCK, most_episodes)


def _episodes_wanted(result: Comparison, to_precision: float) -> int:
    """How many episodes the wanted precision takes by what is known so far; twice as many as now at most."""
    known = result.episode_count
    widest = max(gain.half_width for gain in result.gains.values())
    if widest <= to_precision:
        return known
    blocks = -(-known * min((widest / to_precision) ** 2, 2.0) // BLOCK)
    return max(int(blocks) * BLOCK, known + BLOCK)


def _joined(first: Episodes, second: Episodes) -> Episodes:
    """Two sets of episodes as one."""
    share = len(first.regret) / (len(first.regret) + len(second.regret))
    return Episodes(
        regret=np.concatenate([first.regret, second.regret]),
        reward=np.concatenate([first.reward, second.reward]),
        regret_over_time=share * first.regret_over_time + (1 - share) * second.regret_over_time,
        pulls=None if first.pulls is None or second.pulls is None else share * first.pulls + (1 - share) * second.pulls,
        trajectories=None,
    )


def _microseconds(problem: AnyProblem, policy: Policy, where: dict[str, Any]) -> float:
    """Wall-clock microseconds a decision, the fastest of up to three runs of what is compiled by now."""
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 0.2:
        start = time.perf_counter()
        simulate(problem, policy, **where)
        seconds.append(time.perf_counter() - start)
    return 1e6 * min(seconds) / float(where["episodes"] * where["horizon"])
