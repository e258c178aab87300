"""The experiment as it is run: what the blind first batch costs, and the choice at the end."""

from tsgrad.evaluate import Comparison
from tsgrad.evaluate.digits import decimals_at, fixed, percentage
from tsgrad.report.contents import Section
from tsgrad.simulation import Conditions, Episodes


def conditions_section(conditions: Conditions, comparison: Comparison, trained: str, played: Episodes) -> Section:
    """What the conditions are and what they cost; `played` are experiments of the trained policy."""
    horizon = comparison.horizon
    result, plain = comparison.policies[trained], comparison.policies[comparison.reference]
    digits = decimals_at(result.regret)
    paragraphs = [f"The experiment: {conditions.words(horizon)}."]
    if not conditions.every_user:
        blind = min(horizon, 1 + (conditions.delay if isinstance(conditions.delay, int) else 0))
        batches = "The first batch is blind" if blind == 1 else f"The first {blind} batches are blind"
        lost = [fixed(float(one.regret_over_time[blind - 1]), digits) for one in (result, plain)]
        paragraphs.append(
            f"{batches}: nothing is known yet. That costs {lost[0]} of the trained policy's"
            f" {fixed(result.regret, digits)}, and {lost[1]} of the {fixed(plain.regret, digits)} of"
            f" {comparison.reference}. What can be influenced is the rest."
        )
    if conditions.after is not None:
        paragraphs.append(
            f"The arm that is chosen in the end goes to {int(conditions.after):,} more users. That it is not always the"
            f" best one costs {fixed(played.regret_after, digits)} on average,"
            f" {percentage(played.regret_after, result.regret)} of the whole."
        )
    return Section("The experiment as it is run", paragraphs)
