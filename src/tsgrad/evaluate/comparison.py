"""Comparisons: policies on exactly the same episodes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tsgrad.checks import BadInput, FloatArray, check_choice, check_count
from tsgrad.policies import Policy
from tsgrad.problems import Problem
from tsgrad.simulate import CHUNK, Engine, Episodes, Precision, simulate
from tsgrad.streams import Purpose


class Comparison(NamedTuple):
    """Policies on common episodes. Prints as a table; differences are paired, episode by episode."""

    episodes: dict[str, Episodes]
    horizon: int
    seed: int

    @property
    def names(self) -> list[str]:
        """The policies compared; differences in the table are against the first."""
        return list(self.episodes)

    @property
    def regret(self) -> dict[str, float]:
        """Mean regret of each policy."""
        return {name: float(np.mean(result.regret)) for name, result in self.episodes.items()}

    @property
    def standard_error(self) -> dict[str, float]:
        """Of each policy's mean regret."""
        return {name: _standard_error(result.regret) for name, result in self.episodes.items()}

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
        paired = self.episodes[first].regret - self.episodes[second].regret
        return float(np.mean(paired)), _standard_error(paired)

    def table(self) -> Table:
        """Regrets, differences against the first policy, and where the pulls went."""
        reference = self.names[0]
        count = len(self.episodes[reference].regret)
        table = Table(title=f"Regret over {self.horizon} steps, {count:,} common episodes, seed {self.seed}")
        for header in ("policy", "regret", "s.e.", f"less than {reference}", "s.e."):
            table.add_column(
                header, justify="left" if header == "policy" else "right", no_wrap=header != "policy", overflow="fold"
            )
        table.add_column("pulls per arm")
        for name in self.names:
            mean, error = self.difference(reference, name)
            gain = ("", "") if name == reference else (f"{mean:.3f}", f"{error:.3f}")
            table.add_row(
                Text(name, overflow="fold"),
                f"{self.regret[name]:.3f}",
                f"{self.standard_error[name]:.3f}",
                *gain,
                _shown(self.pulls[name]),
            )
        return table

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        console = Console(width=110, color_system=None)
        with console.capture() as capture:
            console.print(self.table())
        return capture.get().rstrip()


def compare(
    problem: Problem,
    policies: Mapping[str, Policy],
    *,
    horizon: int,
    episodes: int,
    seed: int,
    purpose: Purpose = Purpose.EVALUATION,
    iteration: int = 0,
    engine: Engine = "auto",
    precision: Precision = "float32",
    chunk: int = CHUNK,
) -> Comparison:
    """Plays every policy on the same episodes.

    >>> from tsgrad.policies import ReshapedThompson, Thompson
    >>> from tsgrad.problems import GaussianBandit
    >>> problem = GaussianBandit(arms=3)
    >>> policies = {"plain": Thompson(), "untrained": ReshapedThompson(problem)}
    >>> print(compare(problem, policies, horizon=10, episodes=1000, seed=1).difference("plain", "untrained"))
    (0.0, 0.0)
    """
    check_count("episodes", episodes, least=2)
    if not policies:
        raise BadInput("policies must name at least one policy, got none")
    results: dict[str, Any] = {
        name: simulate(
            problem,
            policy,
            horizon=horizon,
            episodes=episodes,
            seed=seed,
            purpose=purpose,
            iteration=iteration,
            engine=engine,
            precision=precision,
            chunk=chunk,
        )
        for name, policy in policies.items()
    }
    return Comparison(results, horizon, seed)


def _standard_error(sample: FloatArray) -> float:
    return float(np.std(sample, ddof=1) / np.sqrt(len(sample)))


def _shown(pulls: FloatArray | None) -> str:
    if pulls is None:
        return ""
    shown = [f"{pull:.1f}" for pull in pulls[:6]]
    return " ".join(shown + ["…"] * (len(pulls) > 6))
