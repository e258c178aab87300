"""Policies on common fresh episodes, a piece at a time: what was played is kept, and is not played again."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.artefact import write_whole
from tsgrad.experiments.plan import Plan
from tsgrad.policies import Policy
from tsgrad.simulation import simulate

PIECE = 1024  # episodes that are kept together


class Evaluation(NamedTuple):
    """What a policy did over the N episodes of a plan, or over those played so far."""

    regret: FloatArray  # [N]
    regret_over_time: FloatArray  # [T], averaged over episodes
    pulls: FloatArray  # [K], averaged over episodes


def evaluate(path: Path, policy: Policy, plan: Plan, tell: Callable[[int], object]) -> None:
    """Plays the episodes that are not in the file yet. Piece i is at the address of iteration i."""
    setting = plan.setting
    found = read_evaluation(path) or Evaluation(np.zeros(0), np.zeros(setting.horizon), np.zeros(setting.arms))
    while (done := len(found.regret)) < plan.evaluation_episodes:
        played = simulate(
            setting.problem,
            policy,
            horizon=setting.horizon,
            episodes=min(PIECE, plan.evaluation_episodes - done),
            seed=plan.evaluation_seed,
            iteration=done // PIECE,
        )
        assert played.pulls is not None
        share = len(played.regret) / (done + len(played.regret))
        found = Evaluation(
            np.concatenate([found.regret, played.regret]),
            found.regret_over_time + share * (played.regret_over_time - found.regret_over_time),
            found.pulls + share * (played.pulls - found.pulls),
        )
        arrays = found._asdict()
        write_whole(path, lambda file, arrays=arrays: np.savez(file, **arrays))  # type: ignore[misc]
        tell(len(found.regret))


def read_evaluation(path: Path) -> Evaluation | None:
    """What was played so far; None where there is nothing, or nothing that can be read."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            return Evaluation(**{name: arrays[name] for name in Evaluation._fields})
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
