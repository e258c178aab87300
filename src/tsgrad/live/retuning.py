"""From the ledger of a deployed policy to its next version, if a better one is found."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tsgrad.artefact import write_json, write_text
from tsgrad.checks import BadInput, check_choice, check_path, check_type, needs_extra
from tsgrad.evaluate import compare
from tsgrad.evaluate.statistics import mean_and_error
from tsgrad.live.departure import departure_p_value
from tsgrad.live.estimates import LogEstimate
from tsgrad.live.families import ArmFamily
from tsgrad.live.fit import FAMILIES, FittedPrior, fit_prior
from tsgrad.live.recorded import check_alike, recorded
from tsgrad.problems import AnyProblem, FiniteArms, Misspecified, Problem
from tsgrad.registry import registered_name, to_data
from tsgrad.training import Run, RunFolder, resume, train

if TYPE_CHECKING:
    from tsgrad_runtime.ledger import Ledger

RESULT = "retuned.md"  # written last; the command makes a page of the same
SURE = 2.0  # standard errors from which a gain or a loss is one
LEVEL = 0.01  # of the test by which a ledger rejects the deployed prior: how often it does so wrongly


class Gain(NamedTuple):
    """How much less regret the new policy has than the deployed one, each believing in its own prior."""

    value: float
    standard_error: float

    @property
    def sure(self) -> bool:
        """Whether it is a gain beyond chance."""
        return self.value > SURE * self.standard_error

    @property
    def no_loss(self) -> bool:
        """Whether it is no loss beyond chance."""
        return self.value >= -SURE * self.standard_error

    def __str__(self) -> str:
        verdict = "a gain beyond chance" if self.sure else "no loss beyond chance" if self.no_loss else "a loss"
        return f"{self.value:.3g} less regret (s.e. {self.standard_error:.2g}), {verdict}."


class Retuned(NamedTuple):
    """What retuning found, and whether the new policy is to replace the deployed one. Prints as sentences.

    Attributes:
        fit: the prior fitted to the ledger.
        departure: the p-value of a test that the deployed prior is right, by the ledger.
        run: the new run, whose prior is the deployed one unless the ledger rejects it.
        replaces: whether its policy is better than the deployed one and so replaces it.
        gain: where that prior holds.
        uncertain_gain: where priors are drawn from what the fit to the ledger leaves open.
        recorded_gain: on the ledger's own arms; expected rewards are drawn from what the recorded ones leave open.
        before: the run whose policy is deployed.
        equal_shares: what the ledger says playing all arms equally often would have earned, by its propensities; None
            where it has none, or an arm was never played.
        earned: the mean reward of the decisions that it recorded.

    """

    fit: FittedPrior
    departure: float
    run: Run
    replaces: bool
    gain: Gain
    uncertain_gain: Gain
    recorded_gain: Gain
    before: Run
    equal_shares: LogEstimate | None
    earned: float

    @property
    def prior_stands(self) -> bool:
        """Whether the ledger does not reject the prior that the policy was deployed with."""
        return self.departure > LEVEL

    @property
    def comparisons(self) -> dict[str, Gain]:
        """By where the two policies were compared, in words."""
        prior = "deployed prior" if self.prior_stands else "prior fitted to the ledger"
        return {
            f"With the {prior}": self.gain,
            "With priors that the ledger leaves open": self.uncertain_gain,
            "On the arms of the ledger, as far as it tells": self.recorded_gain,
        }

    @property
    def why(self) -> str:
        """The verdict on the prior, in a sentence."""
        if self.prior_stands:
            return f"The ledger does not contradict the deployed prior (p = {self.departure:.2g}), which is kept."
        return f"The ledger rejects the deployed prior (p = {self.departure:.2g}): one that is fitted to it follows."

    @property
    def decided(self) -> str:
        """What the recorded decisions say themselves, in a sentence."""
        own = f"The decisions in the ledger earned {self.earned:.3g} each"
        if self.equal_shares is None:
            return f"{own}. It can't tell what others would have: propensities are missing, or arms were never played."
        estimate = self.equal_shares.estimates["self-normalised"]
        low, high = estimate.interval
        others = f"playing all arms equally often would have earned {estimate.value:.3g} ({low:.3g} to {high:.3g})"
        return " ".join([f"{own}; {others}.", *self.equal_shares.warnings])

    @property
    def changes(self) -> dict[str, str]:
        """What changed in the prior and in the policy, in words."""
        old, new = (to_data(run.problem.model) for run in (self.before, self.run))
        start, end = self.before.trained.meta_parameters(), self.run.trained.meta_parameters()
        return {
            "prior": _changes({name: (old[name], new[name]) for name in self.fit.parameters}),
            "policy": _changes({name: (start[name], end[name]) for name in start}),
        }

    def __str__(self) -> str:
        verdict = "is better than the deployed one" if self.replaces else "is not better: keep the deployed one"
        return "\n".join(
            [
                f"The new policy {verdict}.",
                self.why,
                *(f"{where}: {gain}" for where, gain in self.comparisons.items()),
                self.decided,
                f"What changed, in the prior: {self.changes['prior']}",
                f"and in the policy: {self.changes['policy']}",
                f"The prior that fits the ledger best: {self.fit}",
            ]
        )


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
        episodes: on which the two policies are compared, in each of three ways.

    Returns:
        The result, which is also written to `retuned.md` in the new folder. `tsgrad retune` makes a page of it, too:
        `retuned.html`.

    Raises:
        BadInput: if `folder` is no finished run, or not that of the policy that decided last in the ledger; its problem
            is not one that `fit_prior` can fit, or has arms with different priors or noise; arms were added or
            withdrawn in the ledger, or it holds no rewards; or `out` is not empty.

    What is known of arms is the deployed prior, and one experiment has too few of them to replace it lightly: the new
    policy is trained for a prior that is fitted to the ledger only where a likelihood-ratio test rejects the deployed
    one at a level of 1%, and otherwise for the deployed one still. Then it must be better where that prior holds,
    beyond chance, and not worse beyond chance where priors are drawn from what the ledger leaves open, nor on the
    ledger's own arms, whose expected rewards are drawn from what their recorded rewards leave open. In all of these
    each policy believes in the prior that it is deployed with: that is what would be exchanged. Arms keep the names
    that they have in the ledger. The guide *From logs to a running experiment* goes all the way there.

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
    try:
        fit = fit_prior(past.log, family=family)
    except BadInput as error:
        raise BadInput(
            f"ledger {ledger.name} can't tell yet: {error}; keep the deployed policy until it holds more"
        ) from None
    assert isinstance(fit.law, ArmFamily)  # a ledger is of one experiment
    departure = departure_p_value(fit.law, model, fit.units)
    problem: AnyProblem = before.problem if departure > LEVEL else fit.problem(arms=model.arms)
    settings = {"horizon": horizon, **settings}
    if _was_stopped(out, problem, settings):
        run = resume(out)
    else:
        run = train(problem, before.trained, out=out, conditions=before.conditions, **settings)

    def gain(truth: Problem) -> Gain:
        # Episodes of one seed are the same for whatever plays them, so that regrets can be compared one by one.
        options = {"horizon": horizon, "episodes": episodes, "seed": 1, "conditions": before.conditions}
        old, new = (
            compare(Misspecified(truth=truth, model=one.problem.model), {"": one.policy}, bound=None, **options)
            for one in (before, run)
        )
        return Gain(*mean_and_error(old.regrets[""] - new.regrets[""]))

    values = to_data(problem.model)
    parameters = [np.ravel(values[name])[0] for name in fit.parameters]
    assumed, uncertain, known = map(
        gain, (problem.truth, fit.uncertain(arms=model.arms).truth, past.worlds(fit.law, parameters))
    )
    replaces = assumed.sure and uncertain.no_loss and known.no_loss
    earned = float(np.mean(past.reward))
    retuned = Retuned(fit, departure, run, replaces, assumed, uncertain, known, before, past.equal_shares(), earned)
    if retuned.replaces:
        lineage = [{**run.provenance, "from": past.policy}, *past.content.get("lineage", [])]
        write_json(out / "next.json", "policy", run.content(arms=past.arms, lineage=lineage))
    write_text(out / RESULT, f"{retuned}\n")
    return retuned


def _was_stopped(out: Path, problem: AnyProblem, settings: Mapping[str, Any]) -> bool:
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
