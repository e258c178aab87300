"""The experiment as it is run: what the blind first batch costs, the final choice, and the price of ignoring it."""

import numpy as np

from tsgrad.evaluate import Comparison
from tsgrad.evaluate.digits import INTERVAL_Z, decimals_at, fixed, interval, percentage
from tsgrad.report.contents import Section
from tsgrad.simulation import Conditions, Episodes

WITHOUT = "trained without conditions"


def conditions_section(conditions: Conditions, comparison: Comparison, trained: str, played: Episodes) -> Section:
    """What the conditions are and what they cost; `played` are experiments of the trained policy.

    Where a policy that was trained without them is compared too, as `WITHOUT`: what ignoring them costs.
    """
    horizon = comparison.horizon
    result, plain = comparison.policies[trained], comparison.policies[comparison.reference]
    digits = decimals_at(result.regret)
    paragraphs = [f"The experiment: {conditions.words(horizon)}."]
    if not conditions.every_user:
        possible = [conditions.delay] if isinstance(conditions.delay, int) else np.flatnonzero(conditions.delay)
        blind = min([horizon, *(1 + int(delay) for delay in possible)])
        batches = "The first batch is blind" if blind == 1 else f"The first {blind} batches are blind"
        blind_regret = [float(one.regret_over_time[blind - 1]) for one in (result, plain)]
        rest = [one.regret - cost for one, cost in zip((result, plain), blind_regret, strict=True)]
        paragraphs.append(
            f"{batches}: nothing is known yet. That costs {fixed(blind_regret[0], digits)} of the trained policy's"
            f" {fixed(result.regret, digits)}, and {fixed(blind_regret[1], digits)} of the"
            f" {fixed(plain.regret, digits)} of {comparison.reference}. What can be influenced is the rest:"
            f" {fixed(rest[0], digits)} where {comparison.reference} has {fixed(rest[1], digits)}."
        )
    if conditions.after is not None:
        paragraphs.append(
            f"The arm that is chosen in the end goes to {int(conditions.after):,} more users. That it is not always the"
            f" best one costs {fixed(played.regret_after, digits)} on average,"
            f" {percentage(played.regret_after, result.regret)} of the whole."
        )
    if WITHOUT in comparison.policies:
        paragraphs.append(_price_of_ignoring(comparison, trained))
    return Section("The experiment as it is run", paragraphs)


def _price_of_ignoring(comparison: Comparison, trained: str) -> str:
    """What is lost by a policy that was trained as if the conditions were not there."""
    price, error = comparison.difference(WITHOUT, trained)
    regret = fixed(comparison.regret[WITHOUT], decimals_at(comparison.regret[trained]))
    if abs(price) <= INTERVAL_Z * error:
        return f"A policy trained without these conditions has regret {regret}, the same as this one within chance."
    more, so = ("more", "the price of ignoring them") if price > 0 else ("less", "train this one for longer")
    return (
        f"A policy trained without these conditions has regret {regret}, {interval(abs(price), error)}"
        f" {more} than this one (95% confidence interval): {so}."
    )
