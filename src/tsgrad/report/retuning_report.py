"""The page of a retuning: which policy to deploy and why, and what changed."""

from importlib.metadata import version

import numpy as np

from tsgrad.evaluate.digits import INTERVAL_Z, decimals, fixed, interval
from tsgrad.live import Retuned
from tsgrad.registry import to_data
from tsgrad.report.contents import Concern, Fact, KeyFigure, Report, Section, Table, TableRow
from tsgrad.report.robustness_section import gains_picture
from tsgrad.report.words import listing, short, spoken


def retuning_report(found: Retuned) -> Report:
    """What `tsgrad.retune` found, as a page."""
    gain = found.gain
    verdict = (
        "The new policy replaces the deployed one: it is better, and the gain holds."
        if found.replaces
        else "The deployed policy is kept: no other was shown to be better."
    )
    digits = decimals(gain.standard_error)
    return Report(
        title="Deploy the new policy" if found.replaces else "Keep the deployed policy",
        subtitle=f"Retuned from a ledger with {int(np.sum(found.fit.units.pulls)):,} rewards",
        headline=verdict,
        key_figures=[
            KeyFigure("Less regret", fixed(gain.value, digits), interval(gain.value, gain.standard_error), strong=True),
            KeyFigure("Prior", "kept" if found.prior_stands else "replaced", f"p = {found.departure:.2g}"),
        ],
        concerns=[
            *(Concern("The fit to the ledger", said) for said in found.fit.warnings),
            *(Concern("What other shares would have earned", said) for said in _doubts(found)),
        ],
        sections=[_why(found), _prior(found), _policy(found)],
        facts=[Fact("Family", found.fit.family), Fact("Conditions", found.run.conditions.words(_steps(found)))],
        configuration="",
        version=version("tsgrad"),
        all_clear="None.",
    )


def _doubts(found: Retuned) -> tuple[str, ...]:
    return () if found.equal_shares is None else found.equal_shares.warnings


def _steps(found: Retuned) -> int:
    return int(found.run.provenance["horizon"])


def _why(found: Retuned) -> Section:
    rows = []
    for number, (where, gain) in enumerate(found.comparisons.items()):
        holds = gain.no_loss if number else gain.sure
        less = fixed(gain.value, max(1, decimals(gain.standard_error)))
        rows.append(TableRow([where, "yes" if holds else "no", less, interval(gain.value, gain.standard_error)]))
    table = Table(
        caption="How much less regret the new policy has",
        columns=["compared", "holds", "less regret", "95% interval"],
        rows=rows,
        note="The first must be a gain beyond chance, the others no loss beyond chance. Each policy believes in the"
        " prior that it is deployed with.",
        text_columns=2,
    )
    gains = {where: (gain.value, INTERVAL_Z * gain.standard_error) for where, gain in found.comparisons.items()}
    return Section("Why", [found.why, found.decided], [gains_picture(gains), table])


def _prior(found: Retuned) -> Section:
    before, after = (to_data(run.problem.model) for run in (found.before, found.run))
    rows = []
    for name, value in found.fit.parameters.items():
        low, high = found.fit.intervals[name]
        fitted = f"{short(value)} ({short(low)} to {short(high)})"
        rows.append(TableRow([spoken(name), listing(before[name]), listing(after[name]), fitted]))
    table = Table(
        caption="The prior, before and after",
        columns=["parameter", "deployed", "now", "fitted to the ledger alone (95%)"],
        rows=rows,
    )
    return Section("What is assumed of the arms", [], [table])


def _policy(found: Retuned) -> Section:
    before, after = (run.trained.meta_parameters() for run in (found.before, found.run))
    rows = [TableRow([spoken(name), listing(before[name], most=4), listing(after[name], most=4)]) for name in before]
    same = all(np.array_equal(before[name], after[name]) for name in before)
    said = ["Training found nothing better than the meta-parameters that are deployed."] if same else []
    table = Table("Meta-parameters, before and after", ["meta-parameter", "deployed", "now"], rows)
    return Section("What changed in the policy", said, [table] if rows else [])
