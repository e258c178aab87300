"""The sentences and sections that every report has: policies on common episodes, one of which was trained."""

import itertools
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from tsgrad.arrays import FloatArray
from tsgrad.evaluate import Comparison, Gain, PolicyResult, RegretBound
from tsgrad.evaluate.digits import INTERVAL_Z, decimals, decimals_at, fixed, interval, measured, percentage
from tsgrad.report import charts
from tsgrad.report.contents import KeyFigure, Picture, Section, Table, TableRow
from tsgrad.report.words import ArmLabels

PHASES = 4  # of an episode: early, two in the middle, late
MOST_LINES = 7  # policies whose regret over time is drawn
FAR = 3  # times the reference's regret: lines that high would press all others into one
HARDLY = 0.01  # of all pulls: what is not worth speaking of
FALSE_ALARM = 0.05  # of speaking of any arm where pulls did not move

LIMITS = {
    "perfect": "a policy that knew the world",
    "FH": "a policy that knew from the start what pulling every arm at all steps would teach",
    "V-Zero": "a policy that knew the rewards to come, but was paid posterior means (IRS V-Zero)",
    "optimum": "the Bayes-optimal policy, computed by dynamic programming",
}


def is_shown(gain: Gain) -> bool:
    """Whether a gain exceeds its error."""
    return gain.mean > INTERVAL_Z * gain.standard_error


def headline(comparison: Comparison, trained: str, subject: str) -> str:
    """The gain with its interval, in a sentence about `subject`."""
    before, after = comparison.policies[comparison.reference], comparison.policies[trained]
    gain, error = comparison.gains[trained][:2]
    regrets = (
        f"{subject} has regret {measured(after.regret, after.standard_error)}, plain {comparison.reference} "
        f"{measured(before.regret, before.standard_error)}"
    )
    known = f"(95% confidence interval {interval(abs(gain), error)})"
    amount = fixed(abs(gain), decimals(error))
    if is_shown(comparison.gains[trained]):
        return f"{regrets}: a gain of {amount} {known}, {percentage(gain, before.regret)} of the regret."
    if gain < -INTERVAL_Z * error:
        return f"{regrets}: it is worse by {amount} {known}."
    if gain == error == 0:
        return f"{regrets}: no gain; both make the same choices."
    return f"{regrets}: no gain beyond chance (95% confidence interval {interval(gain, error)})."


def key_figures(comparison: Comparison, trained: str) -> list[KeyFigure]:
    """The numbers that deserve large type."""
    before, after = comparison.policies[comparison.reference], comparison.policies[trained]
    gain, error = comparison.gains[trained][:2]
    share = percentage(gain, before.regret)
    shown = [
        KeyFigure("Regret before", _regret(before), comparison.reference),
        KeyFigure("Regret after", _regret(after), trained, strong=True),
        KeyFigure(
            "Gain",
            fixed(gain, decimals(error)),
            f"{share} of the regret; 95% confidence interval {interval(gain, error)}",
        ),
    ]
    if comparison.bound is not None:
        limit = fixed(comparison.bound.regret, decimals(after.standard_error))
        shown.append(KeyFigure("Limit", limit, "no policy has less regret"))
    return shown


def _regret(result: PolicyResult) -> str:
    return fixed(result.regret, decimals(result.standard_error))


def comparison_section(comparison: Comparison, trained: str, *, remark: str = "") -> Section:
    """Every policy on the same fresh episodes, in a table and a figure."""
    reference = comparison.policies[comparison.reference]
    rows = []
    for name, result in comparison.policies.items():
        digits = max(2, decimals(result.standard_error))
        gain = ["", "", ""]
        if result.gain is not None:
            gain = [
                fixed(result.gain.mean, digits),
                fixed(result.gain.standard_error, digits),
                percentage(result.gain.mean, reference.regret),
            ]
        cells = [name, fixed(result.regret, digits), fixed(result.standard_error, digits), *gain]
        rows.append(TableRow(cells, strong=name == comparison.best, ours=name == trained))
    table = Table(
        caption=f"Regret on {comparison.episodes:,} common episodes (evaluation seed {comparison.seed})",
        columns=["policy", "regret", "s.e.", "gain", "s.e.", "share"],
        rows=rows,
        note=f"The least regret is in bold. Gains are over {comparison.reference} and paired, episode by episode; the "
        "share is that of its regret.",
    )
    paragraphs = [
        "Regret is what is lost in an episode against always playing the best arm; lower is better. All policies "
        "played the same episodes, none of which took part in training or selection." + (f" {remark}" if remark else "")
    ]
    heading = "Against its rivals" if len(rows) > 3 else "On fresh episodes"
    return Section(heading, paragraphs, [table, ranking_picture(comparison, trained)])


def ranking_picture(comparison: Comparison, trained: str) -> Picture:
    """All policies by regret."""
    limit = comparison.bound
    ranked = sorted(comparison.policies, key=lambda name: comparison.policies[name].regret)
    return Picture(
        name="ranking",
        caption="All policies, the best on top. Bars are 95% confidence intervals.",
        alternative=f"Policies by regret, from the least: {', '.join(ranked)}.",
        draw=lambda width: charts.ranking(
            {name: (result.regret, result.standard_error) for name, result in comparison.policies.items()},
            trained=trained,
            reference=comparison.reference,
            bound=None if limit is None else limit.regret,
            width=width,
        ),
    )


def limit_section(comparison: Comparison, trained: str, limit: RegretBound) -> Section:
    """How far the trained policy is from what no policy can beat."""
    before, after = comparison.regret[comparison.reference], comparison.regret[trained]
    exact = fixed(limit.regret, decimals_at(limit.regret, least=2))
    known = measured(limit.regret, limit.standard_error) if limit.standard_error else exact
    digits = decimals_at(before)
    sentences = [
        f"No policy can lose less than {known} here on average: that is the regret of "
        f"{LIMITS.get(limit.kind, limit.kind)}. The trained policy is {fixed(after - limit.regret, digits)} above it, "
        f"{comparison.reference} {fixed(before - limit.regret, digits)}."
    ]
    if is_shown(comparison.gains[trained]) and after > limit.regret:
        sentences.append(
            f"Training removed {percentage(before - after, before - limit.regret)} of the regret above the limit. "
            "The limit itself may be out of reach for every policy."
        )
    return Section("The limit", [" ".join(sentences)])


def gain_section(
    comparison: Comparison, trained: str, labels: ArmLabels, *, drawn: Sequence[str] | None = None
) -> Section:
    """Where the gain comes from: over time, early against late, and by arm; `drawn` are the policies to draw."""
    before, after = comparison.policies[comparison.reference], comparison.policies[trained]
    names = (comparison.reference, trained)
    edges = _phase_edges(comparison.horizon)
    regrets = [_regret_between(result.regret_over_time, edges) for result in (before, after)]
    phases = [str(low + 1) if high == low + 1 else f"{low + 1}–{high}" for low, high in itertools.pairwise(edges)]
    saved = regrets[0] - regrets[1]
    curves = _curves_to_draw(comparison, trained, comparison.names if drawn is None else drawn)
    digits = decimals_at(before.regret)
    blocks = [
        Picture(
            name="regret-over-time",
            caption="Regret up to each step, on average.",
            alternative="Regret over time; at the end "
            + ", ".join(f"{name} {fixed(float(curve[-1]), digits)}" for name, curve in curves.items())
            + ".",
            draw=lambda width: charts.regret_over_time(
                curves, trained=trained, reference=comparison.reference, width=width
            ),
        ),
        Picture(
            name="regret-by-phase",
            caption="Regret in each part of the episode, and the difference that training makes there.",
            alternative="Regret saved by part of the episode: "
            + ", ".join(
                f"steps {phase} {fixed(float(part), digits)}" for phase, part in zip(phases, saved, strict=True)
            )
            + ".",
            draw=lambda width: charts.regret_by_phase(regrets[0], regrets[1], phases, names=names, width=width),
        ),
    ]
    paragraphs = [_timing_sentence(phases, saved, comparison.gains[trained], digits)]
    earlier, later = before.pulls, after.pulls
    if earlier is not None and later is not None:
        paragraphs.append(_pulls_sentence(earlier, later, comparison.episodes))
        blocks.append(
            Picture(
                name="pulls-per-arm",
                caption="How often each arm is pulled in an episode, on average over episodes.",
                alternative="Pulls per arm, before and after: "
                + ", ".join(
                    f"arm {arm} {fixed(float(first), 1)} and {fixed(float(second), 1)}"
                    for arm, (first, second) in enumerate(zip(earlier[:30], later[:30], strict=True))
                )
                + ".",
                draw=lambda width: charts.pulls_per_arm(
                    earlier, later, labels.ticks, names=names, title=labels.title, width=width
                ),
            )
        )
    return Section("Where the gain comes from", paragraphs, blocks)


def _phase_edges(horizon: int) -> list[int]:
    return [int(edge) for edge in np.unique(np.round(np.linspace(0, horizon, PHASES + 1)).astype(int))]


def _regret_between(regret_over_time: FloatArray, edges: list[int]) -> FloatArray:
    upto = np.concatenate([[0.0], np.asarray(regret_over_time, dtype=float)])
    return np.diff(upto[edges])


def _curves_to_draw(comparison: Comparison, trained: str, drawn: Sequence[str]) -> dict[str, FloatArray]:
    """The trained policy, the reference, and the best of the others that are not far above."""
    needed = {trained, comparison.reference}
    most = FAR * comparison.policies[comparison.reference].regret
    near = (name for name in set(drawn) - needed if comparison.policies[name].regret < most)
    others = sorted(near, key=lambda name: comparison.policies[name].regret)
    kept = needed | set(others[: MOST_LINES - len(needed)])
    return {name: result.regret_over_time for name, result in comparison.policies.items() if name in kept}


def _timing_sentence(phases: Sequence[str], saved: FloatArray, gain: Gain, digits: int) -> str:
    """When the gain is made. A loss early on is mentioned where it exceeds the error of the whole gain, which is
    no less than that of a part: what goes well or badly early in an episode goes on to do so.
    """
    if len(phases) < 2 or not is_shown(gain):
        return "There is no gain to divide over time."
    early, late, total = float(saved[0]), float(saved[-1]), float(np.sum(saved))
    if early < -INTERVAL_Z * gain.standard_error:
        return (
            f"Training invests: it loses {fixed(-early, digits)} more in steps {phases[0]}, and earns it back later, "
            f"{fixed(late, digits)} of it in steps {phases[-1]}."
        )
    return (
        f"Of the gain, {percentage(max(early, 0.0), total)} is made early, in steps {phases[0]}, and "
        f"{percentage(late, total)} late, in steps {phases[-1]}."
    )


def _pulls_sentence(before: FloatArray, after: FloatArray, episodes: int) -> str:
    """Which arms are pulled more or less often, of those of which that exceeds chance; pulls are [K], averages.

    An arm is pulled 0 to T times in an episode, so that the variance of its pulls is at most m (T - m) where m is their
    mean, and the standard error of a difference of two means at most the sum of theirs. Arms are judged together.
    """
    change, steps = after - before, float(np.sum(before))
    moved = float(np.sum(np.abs(change)) / 2)
    if moved < HARDLY * steps:
        return "Training moved hardly any pulls from arm to arm: it changed when they are made."
    error = sum(np.sqrt(np.clip(pulls * (steps - pulls), 0, None) / episodes) for pulls in (before, after))
    certain = np.where(np.abs(change) > -ndtri(FALSE_ALARM / 2 / len(change)) * error, change, 0.0)
    parts = [
        f"most {preposition} arm {arm} ({fixed(float(before[arm]), 1)} to {fixed(float(after[arm]), 1)}"
        for preposition, arm in (("to", int(np.argmax(certain))), ("from", int(np.argmin(certain))))
        if (certain[arm] > 0) == (preposition == "to") and certain[arm] != 0
    ]
    if not parts:
        return "No arm is pulled more or less often than before by more than chance."
    parts[0] += " per episode"
    return f"Training moved {percentage(moved, steps)} of the pulls to other arms: {'), '.join(parts)})."
