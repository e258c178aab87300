"""How an experiment is run, in a sentence."""

from typing import Any

import numpy as np


def words_of(conditions: Any, horizon: int) -> str:
    """All that conditions say about an experiment of so many steps.

    >>> from tsgrad.simulation import Conditions
    >>> words_of(Conditions(delay=2), 10)
    '10 steps; rewards are seen 2 steps late'
    """
    sizes = conditions.sizes(horizon)
    parts = [f"{horizon:,} steps"] if sizes.max() == 1 else []
    if sizes.max() > 1:
        of = f"{sizes[0]:,}" if sizes.min() == sizes.max() else f"{sizes.min():,} to {sizes.max():,}"
        how = ", allocated in proportion" if conditions.allocation == "proportional" else ""
        parts = [f"{horizon:,} {_steps(horizon)} of {of} users{how}"]
    if isinstance(conditions.delay, int) and conditions.delay:
        parts.append(f"rewards are seen {conditions.delay:,} {_steps(conditions.delay)} late")
    elif not isinstance(conditions.delay, int):
        chances = [f"{100 * chance:.3g}% {late} {_steps(late)} late" for late, chance in enumerate(conditions.delay)]
        never = 1 - float(np.sum(conditions.delay))
        parts.append("rewards are seen: " + ", ".join([*chances, *([f"{100 * never:.3g}% never"] * (never > 1e-9))]))
    if conditions.floor is not None:
        parts.append(f"every arm gets at least {100 * float(conditions.floor):.3g}% of the users")
    if conditions.available is not None:
        parts.append("arms come and go")
    if conditions.after is not None:
        parts.append(f"{int(conditions.after):,} users get the best arm afterwards")
    return "; ".join(parts)


def _steps(number: int) -> str:
    return "step" if number == 1 else "steps"
