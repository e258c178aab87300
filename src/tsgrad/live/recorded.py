"""What a ledger recorded of a deployed policy: its arms, their rewards, and the worlds that these leave open."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, needs_extra
from tsgrad.live.estimates import LogEstimate
from tsgrad.live.export import exported
from tsgrad.live.families import ArmFamily
from tsgrad.live.off_policy import evaluate_log
from tsgrad.problems import IndependentArms, Problem
from tsgrad.registry import to_data
from tsgrad_runtime.artefact import read_artefact

if TYPE_CHECKING:
    from tsgrad_runtime.ledger import Ledger


class Recorded(NamedTuple):
    """A ledger, read for retuning: name and content of the policy that decided last, the names of its arms in their
    order, and which arm paid what, chosen with which probability where that is known; axes [rewards].
    """

    policy: str
    content: dict[str, Any]
    arms: tuple[str, ...]
    arm: Any
    reward: FloatArray
    propensity: list[float | None]

    @property
    def log(self) -> dict[str, Any]:
        """As `fit_prior` reads it."""
        return {"arm": self.arm, "reward": self.reward}

    def equal_shares(self) -> LogEstimate | None:
        """What playing all arms equally often would have earned; None without propensities, or an arm never played."""
        played = set(self.arm.tolist())
        if None in self.propensity or played != set(self.arms) or len(self.reward) < 2:
            return None
        target = dict.fromkeys(self.arms, 1 / len(self.arms))
        return evaluate_log({**self.log, "propensity": self.propensity}, target=target)

    def worlds(self, law: ArmFamily, parameters: Sequence[float]) -> IndependentArms:
        """The bandit whose prior is what is now known of these very arms: their rewards, under a prior."""
        which = np.array([self.arms.index(name) for name in self.arm.tolist()])
        of_each = (np.ones_like(self.reward), self.reward)
        pulls, total = (np.asarray(np.bincount(which, one, len(self.arms)), np.float64) for one in of_each)
        return law.posterior(np.array(parameters), pulls, total)


def recorded(ledger: "Ledger", folder: Path) -> Recorded:
    """What a ledger holds about the policy of a run.

    Raises:
        BadInput: if it holds no rewards, another policy decided last, or arms have come or gone.

    """
    with needs_extra("live"):
        from tsgrad_runtime.experiment import rebuilt

    table = exported(ledger)
    rows = [row for row, reward in enumerate(table["reward"]) if reward is not None]
    if not rows:
        raise BadInput("ledger must hold rewards: there is nothing to learn from yet")
    agent = rebuilt(ledger)
    name, content = agent.artefact.name, agent.artefact.content
    own = read_artefact(folder / "policy.json").content
    # Arms may have been named after training, so that fingerprints of the files differ.
    if any(content[part] != own[part] for part in ("policy", "problem")):
        raise BadInput(
            f"folder: {folder} is not the run of the policy that decided last in ledger {ledger.name},"
            f" {name[:12]}: give the folder that policy was trained in"
        )
    added = [arm for arm in agent.arms if arm not in agent.artefact.arms]
    if added or agent.roster.withdrawn:
        gone = sorted(agent.roster.withdrawn)
        raise BadInput(
            f"ledger {ledger.name} must have the arms of the run, but {(added or gone)[0]!r:.40} was"
            f" {'added' if added else 'withdrawn'} since: export it, fit a prior with tsgrad fit, and train with"
            f" {len(agent.arms) - len(gone)} arms"
        )
    arm, reward = (np.array([table[column][row] for row in rows]) for column in ("arm", "reward"))
    chances = [table["propensity"][row] for row in rows]
    return Recorded(name, content, agent.artefact.arms, arm, reward, chances)


def check_alike(model: Problem) -> None:
    """Refuses a problem whose arms differ: a prior that is fitted to a ledger is the same for all of them."""
    for name, values in to_data(model).items():
        if isinstance(values, list) and len(set(values)) > 1:
            raise BadInput(
                f"problem of the run must have one {name} for all arms, as the prior that is fitted to the ledger has,"
                f" got {min(values):.4g} to {max(values):.4g}: train on a problem of your own with tsgrad.train"
            )
