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
        verdict = "is better than the deployed one" if self.replaces else "is not better: keep the deployed one"
        loss = self.uncertain_gain < -LOSS_Z * self.uncertain_gain_standard_error
        return "\n".join(
            [
                f"The new policy {verdict}.",
                f"With the prior fitted to the ledger: {self.run}",
                f"With priors drawn from the uncertainty of that fit: a gain of {self.uncertain_gain:.3g}"
                f" (s.e. {self.uncertain_gain_standard_error:.2g}), {'a loss' if loss else 'no loss beyond chance'}.",
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
    """Fits the prior again to a ledger, trains on from the deployed policy, and replaces it if the gain holds.

    Args:
        folder: of the run whose policy was deployed.
        ledger: of the experiment in which it was deployed: `tsgrad_runtime.ledger.Ledger("sqlite:///a.db")`.
        out: a new folder for the new run. It gets `next.json`, the policy to deploy, only if that is better. Where a
            retuning was stopped in it, the same call goes on.
        training: settings of the training, if other than the defaults. Horizon and conditions are those of the run.
        episodes: on which the two policies are compared where the prior is uncertain.

    Returns:
        The result, which is also written to `retuned.md` in the new folder.

    Raises:
        BadInput: if `folder` is no finished run, its problem is not one that `fit_prior` can fit, the ledger holds no
            rewards, or `out` is not empty.

    The gain must hold twice, on fresh episodes: with the prior fitted to the ledger, and, as no loss, where that prior
    is drawn from what the data leave open. Arms keep the names that they have in the ledger. The guide *From logs to a
    running experiment* goes all the way there.

    """
    with needs_extra("live"):
        from tsgrad_runtime.ledger import Ledger

    check_type("ledger", ledger, Ledger, remedy="such as tsgrad_runtime.ledger.Ledger('sqlite:///a.db')")
    folder, out, settings = check_path("folder", folder), check_path("out", out), {} if training is None else training
    check_type("training", settings, Mapping, remedy="such as {'iterations': 60}")
    if "horizon" in settings:
        raise BadInput("training must leave the horizon out: it is that of the deployed policy")
    before = RunFolder(folder).run()
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
    if _was_stopped(out, problem, settings):
        run = resume(out)
    else:
        run = train(problem, before.policy, out=out, conditions=before.conditions, **settings)
    compared = compare(
        fit.uncertain(arms=model.arms),
        {"deployed": before.policy, "new": run.policy},
        horizon=horizon,
        episodes=episodes,
        seed=1,
        bound=None,
        conditions=before.conditions,
    )
    gain, error = compared.difference("deployed", "new")
    retuned = Retuned(fit, run, bool(run.improved and gain > -LOSS_Z * error), gain, error)
    if retuned.replaces:
        name, content = _deployed(ledger, table["policy"][-1], folder / "policy.json")
        lineage = [{**run.provenance, "from": name}, *content.get("lineage", [])]
        names = content.get("arms", ())
        arms = names if len(names) == model.arms else None
        write_json(out / "next.json", "policy", run.content(arms=arms, lineage=lineage))
    write_text(out / RESULT, f"{retuned}\n")
    return retuned


def _deployed(ledger: "Ledger", name: str, path: Path) -> tuple[str, dict[str, Any]]:
    """Name and content of the policy that decided: from the ledger, as its arms may have been named after training."""
    content = ledger.policies().get(name)
    if content is not None:
        return name, content
    artefact = read_artefact(path)
    return artefact.name, artefact.content


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
