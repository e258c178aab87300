"""From the ledger of a deployed policy to its next version, if a better one is found."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.artefact import write_json, write_text
from tsgrad.checks import BadInput, check_choice, check_path, check_type, needs_extra
from tsgrad.evaluate import compare
from tsgrad.evaluate.statistics import mean_and_error
from tsgrad.live.fit import FAMILIES, FittedPrior, fit_prior
from tsgrad.live.recorded import check_alike, recorded
from tsgrad.policies import SamplingPolicy
from tsgrad.problems import AnyProblem, FiniteArms, Misspecified, Problem
from tsgrad.registry import registered_name, to_data
from tsgrad.training import Run, RunFolder, resume, train

if TYPE_CHECKING:
    from tsgrad_runtime.ledger import Ledger

RESULT = "retuned.md"  # written last
LOSS_Z = 2.0  # standard errors by which the new policy may not be worse in any comparison


class Retuned(NamedTuple):
    """What retuning found, and whether the new policy is to replace the deployed one. Prints as sentences.

    Attributes:
        fit: the prior fitted to the ledger.
        run: the new run: its policy, and what that gains with the fitted prior.
        replaces: whether its policy is better than the deployed one and so replaces it.
        uncertain_gain: how much less regret the new policy has where priors are drawn from what the fit leaves open.
        uncertain_gain_standard_error: of that gain.
        recorded_gain: how much less regret the new policy has on the ledger's own arms, each policy with the prior it
            was trained for; expected rewards are drawn from what the recorded ones leave open.
        recorded_gain_standard_error: of that gain.
        before: the run whose policy is deployed.

    """

    fit: FittedPrior
    run: Run
    replaces: bool
    uncertain_gain: float
    uncertain_gain_standard_error: float
    recorded_gain: float
    recorded_gain_standard_error: float
    before: Run

    def __str__(self) -> str:
        verdict = "is better than the deployed one" if self.replaces else "is not better: keep the deployed one"
        old, new = (to_data(run.problem.model) for run in (self.before, self.run))
        start, end = self.before.policy.meta_parameters(), self.run.policy.meta_parameters()
        return "\n".join(
            [
                f"The new policy {verdict}.",
                f"With the prior fitted to the ledger: {self.run}",
                "With priors drawn from the uncertainty of that fit: "
                + _gain(self.uncertain_gain, self.uncertain_gain_standard_error),
                "On the arms that the ledger recorded, as far as their rewards tell: "
                + _gain(self.recorded_gain, self.recorded_gain_standard_error),
                "What changed, in the prior: "
                + _changes({name: (old[name], new[name]) for name in self.fit.parameters}),
                "and in the policy: " + _changes({name: (start[name], end[name]) for name in start}),
                f"The prior: {self.fit}",
            ]
        )


def _gain(gain: float, error: float) -> str:
    verdict = "no loss beyond chance" if _no_loss(gain, error) else "a loss"
    return f"a gain of {gain:.3g} (s.e. {error:.2g}), {verdict}."


def _no_loss(gain: float, error: float) -> bool:
    return gain >= -LOSS_Z * error


def _changes(values: Mapping[str, tuple[Any, Any]]) -> str:
    """Numbers before and after, by name.

    >>> _changes({"alpha": ([1.0, 1.0], [2.5, 2.5]), "beta": (3.0, 3.0)})
    'alpha 1 to 2.5, beta 3 as before.'
    """
    said = []
    for name, pair in values.items():
        before, after = map(_number, pair)
        said.append(f"{name} {before} as before" if before == after else f"{name} {before} to {after}")
    return ", ".join(said) + "."


def _number(values: Any) -> str:
    """One number where all are the same, else their range."""
    least, most = f"{np.min(values):.4g}", f"{np.max(values):.4g}"
    return least if least == most else f"({least} ... {most})"


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
        ledger: of the experiment in which it was deployed: `tsgrad_runtime.Ledger("sqlite:///a.db")`.
        out: a new folder for the new run. It gets `next.json`, the policy to deploy, only if that is better. Where a
            retuning was stopped in it, the same call goes on.
        training: settings of the training, if other than the defaults. Horizon and conditions are those of the run.
        episodes: on which the two policies are compared where the prior is uncertain, and on the recorded arms.

    Returns:
        The result, which is also written to `retuned.md` in the new folder.

    Raises:
        BadInput: if `folder` is no finished run, or not that of the policy that decided last in the ledger; its problem
            is not one that `fit_prior` can fit, or has arms with different priors or noise; arms were added or
            withdrawn in the ledger, or it holds no rewards; or `out` is not empty.

    The gain must hold three times, on fresh episodes: with the prior fitted to the ledger; as no loss beyond chance,
    where that prior is drawn from what the data leave open; and likewise on the ledger's own arms, whose expected
    rewards are drawn from what their recorded rewards leave open. In the last the deployed policy has the prior that it
    was deployed with, and the new one its own: that is what would be exchanged. Arms keep the names that they have in
    the ledger. The guide *From logs to a running experiment* goes all the way there.

    """
    with needs_extra("live"):
        from tsgrad_runtime.ledger import Ledger

    check_type("ledger", ledger, Ledger, remedy="such as tsgrad_runtime.Ledger('sqlite:///a.db')")
    folder, out, settings = check_path("folder", folder), check_path("out", out), {} if training is None else training
    check_type("training", settings, Mapping, remedy="such as {'iterations': 60}")
    if "horizon" in settings:
        raise BadInput("training must leave the horizon out: it is that of the deployed policy")
    before = RunFolder(folder).run()
    model, horizon = before.problem.model, before.provenance["horizon"]
    family = check_choice("problem of the run", registered_name(type(model)) or "one of your own", FAMILIES)
    assert isinstance(model, FiniteArms)
    check_alike(model)
    past = recorded(ledger, folder)
    fit = fit_prior(past.log, family=family)
    problem = fit.problem(arms=model.arms)
    settings = {"horizon": horizon, **settings}
    if _was_stopped(out, problem, settings):
        run = resume(out)
    else:
        run = train(problem, before.policy, out=out, conditions=before.conditions, **settings)

    def regret(world: AnyProblem, policy: SamplingPolicy) -> FloatArray:
        # Episodes of one seed are the same for whatever plays them, so that regrets can be compared one by one.
        options = {"horizon": horizon, "episodes": episodes, "seed": 1, "conditions": before.conditions}
        return compare(world, {"": policy}, bound=None, **options).regrets[""]

    drawn, truth = fit.uncertain(arms=model.arms), past.worlds(fit)
    uncertain = mean_and_error(regret(drawn, before.policy) - regret(drawn, run.policy))
    known = mean_and_error(
        regret(Misspecified(truth=truth, model=model), before.policy)
        - regret(Misspecified(truth=truth, model=problem), run.policy)
    )
    replaces = bool(run.improved and _no_loss(*uncertain) and _no_loss(*known))
    retuned = Retuned(fit, run, replaces, *uncertain, *known, before)
    if retuned.replaces:
        lineage = [{**run.provenance, "from": past.policy}, *past.content.get("lineage", [])]
        write_json(out / "next.json", "policy", run.content(arms=past.arms, lineage=lineage))
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
