"""The section on meta-parameters: from where to where training moved them, and what that means."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.policies import BonusSurface
from tsgrad.report import training_charts
from tsgrad.report.contents import Definitions, Picture, Section, Table, TableRow
from tsgrad.report.words import ArmLabels, meaning, short, spoken

UNFOLDED = 10  # rows up to which a table is shown at once
PLAIN_START = (
    "Where training starts, the policy is plain Thompson sampling: it draws from the posterior of the problem's own "
    "model. Training moves the numbers that the draw is made with, not the posterior."
)
OTHER_START = "Training moves the numbers that draws are made with, not what is believed."
NETWORK = "They are the weights of a network, which mean nothing one by one; this is how far training moved them."

Values = Mapping[str, FloatArray]


def meta_parameter_section(
    before: Mapping[str, Any], after: Mapping[str, Any], labels: ArmLabels, *, from_plain: bool = True
) -> Section:
    """What training moved: one number for all, one per arm or a dimension, or the weights of a network."""
    start, end = ({name: np.asarray(value, dtype=float) for name, value in side.items()} for side in (before, after))
    opening = PLAIN_START if from_plain else OTHER_START
    if any(value.ndim > 1 for value in start.values()):
        return Section("What training changed", [f"{opening} {NETWORK}"], [_weights(start, end)])
    picture = Picture(
        name="meta-parameters",
        caption="Meta-parameters before training (hollow) and after (solid).",
        alternative="Meta-parameters before and after training, as in the table.",
        draw=lambda width: training_charts.meta_parameters(start, end, labels.ticks, width=width),
    )
    definitions = Definitions([(spoken(name), meaning(name)) for name in start])
    return Section("What training changed", [opening], [picture, *_tables(start, end, len(labels.ticks)), definitions])


def bonus_section(policy: BonusSurface, *, least_left: int = 1) -> Section:
    """What a bonus law learned, as a picture: its coefficients mean little one by one. `least_left` are the users
    left at the last step: with fewer the policy never decides.
    """
    text = (
        "The policy draws each arm's value from a normal law around the posterior mean plus a bonus, both in standard "
        "deviations of the posterior. A bonus of zero and a spread of one are Thompson sampling, exactly where "
        "posteriors are normal and nearly elsewhere; training starts from the best of several constant bonuses and "
        "spreads. A positive bonus is optimism about arms of which little is known; a spread below one means less "
        "chance in draws."
    )
    if policy.ceiling is not None:
        text += f" No bonus lifts an arm above {float(policy.ceiling):g}, where expected rewards end."
    picture = Picture(
        name="bonus",
        caption="What training learned: the bonus and the spread of an arm by steps left, one line for each amount "
        "that is known of it, in rewards that the belief about it is worth.",
        alternative="Lines over steps left: the bonus, and the spread, of arms of which little to much is known.",
        draw=lambda width: training_charts.bonus_over_time(policy, least_left=least_left, width=width),
    )
    return Section("What training changed", [text], [picture])


def _tables(start: Values, end: Values, arms: int) -> list[Table]:
    """A table for those that are single numbers, and one for each number of entries that others have."""
    tables = []
    for entries in sorted({value.size for value in start.values()}):
        names = [name for name, value in start.items() if value.size == entries]
        rows = [
            TableRow([_row_name(entry, entries, arms), *(_move(start, end, name, entry) for name in names)])
            for entry in range(entries)
        ]
        heading = "arm" if entries in (1, arms) else "entry"
        caption = "Meta-parameters before → after training"
        columns = [heading, *map(spoken, names)]
        tables.append(Table(caption, columns, rows, folded=entries > UNFOLDED))
    return tables


def _row_name(entry: int, entries: int, arms: int) -> str:
    return "all" if entries == 1 and arms != 1 else str(entry)


def _move(start: Values, end: Values, name: str, entry: int) -> str:
    return f"{short(float(start[name].ravel()[entry]))} → {short(float(end[name].ravel()[entry]))}"


def _weights(start: Values, end: Values) -> Table:
    rows = []
    for name in start:
        sizes = " × ".join(map(str, start[name].shape)) or "1"
        scales = [short(_root_mean_square(value)) for value in (start[name], end[name], end[name] - start[name])]
        rows.append(TableRow([spoken(name), sizes, *scales]))
    return Table(
        caption="Root mean squares of weights, and of how far they moved",
        columns=["weights", "shape", "before", "after", "change"],
        rows=rows,
    )


def _root_mean_square(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
