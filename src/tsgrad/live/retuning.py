"""From the ledger of a deployed policy to its next version, if a better one is found."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tsgrad.artefact import write_json, write_text
from tsgrad.checks import BadInput, check_choice, check_path, check_type, needs_extra
from tsgrad.evaluate import compare
from tsgrad.live.export import exported
from tsgrad.live.fit import FAMILIES, FittedPrior, fit_prior
from tsgrad.policies import policy_content
from tsgrad.problems import FiniteArms, Problem
from tsgrad.registry import registered_name, to_data
from tsgrad.training import Run, RunFolder, resume, train
from tsgrad_runtime.artefact import read_artefact

if TYPE_CHECKING:
    from tsgrad_runtime.ledger import Ledger

RESULT = "retuned.md"  # written last
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
        out: a new folder, for the run; with `next.json`, the policy to deploy, only if it is better. Where a retuning
            was stopped in it, the same call goes on.
        training: its settings, if other than the defaults; the horizon is that of the deployed policy.
        episodes: on which the two are compared where the prior is uncertain.

    Returns:
        The result, which `retuned.md` in the folder has as text.

    The gain must hold twice, on fresh episodes: with the prior fitted to the ledger, and, as no loss, where that prior
    is drawn from what the data leave open.

    """
    with needs_extra("live"):
        from tsgrad_runtime.ledger import Ledger

    check_type("ledger", ledger, Ledger, remedy="such as tsgrad_runtime.ledger.Ledger('sqlite:///a.db')")
    folder, out, settings = check_path("folder", folder), check_path("out", out), {} if training is None else training
    check_type("training", settings, Mapping, remedy="such as {'iterations': 60}")
    if "horizon" in settings:
        raise BadInput("training must leave the horizon out: it is that of the deployed policy")
    before = RunFolder(folder).run()
    deployed = read_artefact(folder / "policy.json")
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
    settings = {"horizon": horizon, **settings}
    stopped = _was_stopped(out, problem, settings)
    run = resume(out) if stopped else train(problem, before.policy, out=out, **settings)
    compared = compare(
        fit.uncertain(arms=model.arms),
        {"deployed": before.policy, "new": run.policy},
        horizon=horizon,
        episodes=episodes,
        seed=1,
        bound=None,
    )
    gain, error = compared.difference("deployed", "new")
    retuned = Retuned(fit, run, bool(run.improved and gain > -LOSS_Z * error), gain, error)
    if retuned.replaces:
        lineage = [{**run.provenance, "from": deployed.name}, *deployed.content.get("lineage", [])]
        known = {"regret": run.start_regret - run.gain, "regret_of_start": run.start_regret, "gain": run.gain}
        arms = list(deployed.arms)
        write_json(out / "next.json", "policy", policy_content(run.policy, problem, horizon, arms, lineage, known))
    write_text(out / RESULT, f"{retuned}\n")
    return retuned


def _was_stopped(out: Path, problem: Problem, settings: Mapping[str, Any]) -> bool:
    """Whether a folder holds a retuning that did not come to its end, of the same prior and settings."""
    if not (out / "config.toml").exists() or (out / RESULT).exists():
        return False
    begun = RunFolder(out).configuration()
    used = begun.training.model_dump()
    if begun.problem != to_data(problem) or used != {**used, **settings}:
        raise BadInput(
            f"out: {out} holds a run with other settings, or another prior than the ledger now suggests: choose another"
            " folder"
        )
    return True
