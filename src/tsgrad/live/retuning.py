"""From the ledger of a deployed policy to its next version, if a better one is found."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tsgrad.artefact import write_json, write_text
from tsgrad.checks import BadInput, check_choice, check_path
from tsgrad.evaluate import compare
from tsgrad.live.export import exported
from tsgrad.live.fit import FAMILIES, FittedPrior, fit_prior
from tsgrad.problems import FiniteArms
from tsgrad.registry import registered_name
from tsgrad.training import Run, RunFolder, train
from tsgrad_runtime.artefact import read_artefact

if TYPE_CHECKING:
    from tsgrad_runtime.ledger import Ledger

LOSS_Z = 2.0  # standard errors by which the new policy may not be worse where its prior is uncertain


class Retuned(NamedTuple):
    """What retuning found: the prior fitted to the ledger, the new run, whether its policy replaces the deployed one,
    and its gain over the deployed one where the prior is uncertain. Prints as sentences.
    """

    fit: FittedPrior
    run: Run
    replaces: bool
    uncertain_gain: float
    uncertain_gain_standard_error: float

    def __str__(self) -> str:
        verdict = "takes the place of" if self.replaces else "does not replace"
        return "\n".join(
            [
                f"The new policy {verdict} the deployed one.",
                f"With the prior that the ledger suggests: {self.run}",
                f"Where that prior is as uncertain as the data leave it: a gain of {self.uncertain_gain:.3g}"
                f" (s.e. {self.uncertain_gain_standard_error:.2g}).",
                f"The prior: {self.fit}",
            ]
        )


def retune(
    folder: str | Path,
    ledger: "Ledger",
    *,
    out: str | Path,
    training: Mapping[str, Any] | None = None,
    episodes: int = 4096,
) -> Retuned:
    """Fits the prior anew to a ledger, trains on from the deployed policy, and replaces it if the gain holds.

    Args:
        folder: of the run whose policy was deployed.
        ledger: of the experiment that it played.
        out: a new folder, for the run; with `next.json`, the policy to deploy, only if it is better.
        training: its settings, if other than the defaults; horizon and conditions are those of the deployed
            policy.
        episodes: on which the two are compared where the prior is uncertain.

    Returns:
        The result, which `retuned.md` in the folder has as text.

    The gain must hold twice, on fresh episodes: with the prior fitted to the ledger, and, as no loss, where that prior
    is drawn from what the data leave open.

    """
    before = RunFolder(check_path("folder", folder)).run()
    deployed = read_artefact(check_path("folder", folder) / "policy.json")
    model, horizon = before.problem.model, before.provenance["horizon"]
    family = check_choice("problem of the run", registered_name(type(model)) or "one of your own", FAMILIES)
    assert isinstance(model, FiniteArms)
    table = exported(ledger)
    rows = [row for row, reward in enumerate(table["reward"]) if reward is not None]
    if not rows:
        raise BadInput("ledger must hold rewards: there is nothing to learn from yet")
    log = {name: np.array([table[name][row] for row in rows]) for name in ("arm", "reward")}
    fit = fit_prior(log, family=family)
    problem = fit.problem(arms=model.arms)
    conditions = before.conditions
    run = train(problem, before.policy, out=out, horizon=horizon, conditions=conditions, **(training or {}))
    compared = compare(
        fit.uncertain(arms=model.arms),
        {"deployed": before.policy, "new": run.policy},
        horizon=horizon,
        episodes=episodes,
        seed=1,
        bound=None,
        conditions=conditions,
    )
    gain, error = compared.difference("deployed", "new")
    retuned = Retuned(fit, run, bool(run.improved and gain > -LOSS_Z * error), gain, error)
    if retuned.replaces:
        lineage = [{**run.provenance, "from": deployed.name}, *deployed.content.get("lineage", [])]
        write_json(Path(out) / "next.json", "policy", run.content(lineage, arms=list(deployed.arms)))
    write_text(Path(out) / "retuned.md", f"{retuned}\n")
    return retuned
