"""The sections that every report has, whatever was run."""

import itertools
from collections.abc import Sequence

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.report import charts
from tsgrad.report.contents import Picture, Section, Table, TableRow
from tsgrad.report.meaning import ArmLabels
from tsgrad.report.outcome import Limit, Outcomes
from tsgrad.report.words import decimals, fixed, measured, percentage

PHASES = 4  # of an episode: early, two in the middle, late
MOST_LINES = 7  # policies whose regret over time is drawn
HARDLY = 0.01  # of all pulls: what is not worth speaking of

LIMITS = {
    "perfect": "a policy that knew the world",
    "FH": "a policy that knew from the start what all pulls of every arm would tell",
    "V-Zero": "a policy that knew the rewards to come, and was paid what they would make one expect (IRS V-Zero)",
    "optimum": "the Bayes-optimal policy, computed by dynamic programming",
}


def comparison_section(outcomes: Outcomes, *, episodes: int, seed: int, remark: str = "") -> Section:
    """Every policy on the same fresh episodes, in a table and a figure."""
    best = min(outcomes.policies, key=lambda name: outcomes.policies[name].regret)
    rows = []
    for name, outcome in outcomes.policies.items():
        digits = max(2, decimals(outcome.standard_error))
        gain = ["", "", ""]
        if name != outcomes.reference:
            gain = [
                fixed(outcome.gain, digits),
                fixed(outcome.gain_standard_error, digits),
                percentage(outcome.gain, outcomes.before.regret),
            ]
        cells = [name, fixed(outcome.regret, digits), fixed(outcome.standard_error, digits), *gain]
        rows.append(TableRow(cells, strong=name == best, ours=name == outcomes.trained))
    table = Table(
        caption=f"Regret on {episodes:,} common episodes (evaluation seed {seed})",
        columns=["policy", "regret", "s.e.", "gain", "s.e.", "share"],
        rows=rows,
        note=f"The least regret is in bold. Gains are over {outcomes.reference} and paired, episode by episode; the "
        "share is that of its regret.",
    )
    paragraphs = [
        "Regret is what is lost in an episode against always playing the best arm; lower is better. All policies "
        "played the same episodes, none of which took part in training or selection." + (f" {remark}" if remark else "")
    ]
    heading = "Against its rivals" if len(rows) > 3 else "On fresh episodes"
    return Section(heading, paragraphs, [table, ranking_picture(outcomes)])


def ranking_picture(outcomes: Outcomes) -> Picture:
    """All policies by regret."""
    limit = outcomes.limit
    ranked = sorted(outcomes.policies, key=lambda name: outcomes.policies[name].regret)
    return Picture(
        name="ranking",
        caption="All policies, the best on top. Bars are 95% intervals.",
        alternative=f"Policies by regret, from the least: {', '.join(ranked)}.",
        draw=lambda width: charts.ranking(
            {name: charts.Measured(*outcome[:2]) for name, outcome in outcomes.policies.items()},
            trained=outcomes.trained,
            reference=outcomes.reference,
            bound=None if limit is None else limit.regret,
            width=width,
        ),
    )


def limit_section(outcomes: Outcomes, limit: Limit) -> Section:
    """How far the trained policy is from what no policy can beat."""
    before, after = outcomes.before.regret, outcomes.after.regret
    known = measured(limit.regret, limit.standard_error) if limit.standard_error else fixed(limit.regret, 2)
    sentences = [
        f"No policy can lose less than {known} here on average: that is the regret of "
        f"{LIMITS.get(limit.kind, limit.kind)}. The trained policy is {fixed(after - limit.regret, 1)} above it, "
        f"{outcomes.reference} {fixed(before - limit.regret, 1)}."
    ]
    if before > after > limit.regret:
        sentences.append(
            f"Training removed {percentage(before - after, before - limit.regret)} of what could at most be removed. "
            "The limit itself may be out of reach for every policy."
        )
    return Section("The limit", [" ".join(sentences)])


def gain_section(outcomes: Outcomes, labels: ArmLabels) -> Section:
    """Where the gain comes from: over time, early against late, and by arm."""
    before, after = outcomes.before, outcomes.after
    names = (outcomes.reference, outcomes.trained)
    edges = _phase_edges(len(before.regret_over_time))
    lost = [_lost_between(outcome.regret_over_time, edges) for outcome in (before, after)]
    phases = [str(low + 1) if high == low + 1 else f"{low + 1}–{high}" for low, high in itertools.pairwise(edges)]
    saved = lost[0] - lost[1]
    drawn = _lines_to_draw(outcomes)
    blocks = [
        Picture(
            name="regret-over-time",
            caption="What has been lost up to each step, on average.",
            alternative="Regret over time; at the end "
            + ", ".join(f"{name} {fixed(float(curve[-1]), 1)}" for name, curve in drawn.items())
            + ".",
            draw=lambda width: charts.regret_over_time(
                drawn, trained=outcomes.trained, reference=outcomes.reference, width=width
            ),
        ),
        Picture(
            name="regret-by-phase",
            caption="What is lost in each part of the episode, and the difference that training makes there.",
            alternative="Regret saved by part of the episode: "
            + ", ".join(f"steps {phase} {fixed(float(part), 1)}" for phase, part in zip(phases, saved, strict=True))
            + ".",
            draw=lambda width: charts.regret_by_phase(lost[0], lost[1], phases, names=names, width=width),
        ),
    ]
    paragraphs = [_timing_sentence(phases, saved)]
    earlier, later = before.pulls, after.pulls
    if earlier is not None and later is not None:
        paragraphs.append(_pulls_sentence(earlier, later))
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


def _lost_between(regret_over_time: FloatArray, edges: list[int]) -> FloatArray:
    upto = np.concatenate([[0.0], np.asarray(regret_over_time, dtype=float)])
    return np.diff(upto[edges])


def _lines_to_draw(outcomes: Outcomes) -> dict[str, FloatArray]:
    """The trained policy, the reference, and the best of the others."""
    needed = {outcomes.trained, outcomes.reference}
    others = sorted(set(outcomes.others) - needed, key=lambda name: outcomes.policies[name].regret)
    kept = needed | set(others[: MOST_LINES - len(needed)])
    return {name: outcome.regret_over_time for name, outcome in outcomes.policies.items() if name in kept}


def _timing_sentence(phases: Sequence[str], saved: FloatArray) -> str:
    total = float(np.sum(saved))
    if len(phases) < 2 or total <= 0:
        return "There is no gain to be told apart by time."
    early, late = float(saved[0]), float(saved[-1])
    if early < 0:
        return (
            f"Training invests: it loses {fixed(-early, 1)} more in steps {phases[0]}, and earns it back later, "
            f"{fixed(late, 1)} of it in steps {phases[-1]}."
        )
    return (
        f"Of the gain, {percentage(early, total)} is made early, in steps {phases[0]}, and "
        f"{percentage(late, total)} late, in steps {phases[-1]}."
    )


def _pulls_sentence(before: FloatArray, after: FloatArray) -> str:
    change = np.asarray(after) - np.asarray(before)
    moved = float(np.sum(np.abs(change)) / 2)
    if moved < HARDLY * np.sum(before):
        return "Training moved hardly any pulls from arm to arm: it changed when they are made."
    most, least = int(np.argmax(change)), int(np.argmin(change))
    return (
        f"Training moved {percentage(moved, float(np.sum(before)))} of the pulls to other arms: most to arm {most} "
        f"({fixed(float(before[most]), 1)} to {fixed(float(after[most]), 1)} an episode), most from arm {least} "
        f"({fixed(float(before[least]), 1)} to {fixed(float(after[least]), 1)})."
    )
