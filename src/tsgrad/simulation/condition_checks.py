"""Whether what is said about how an experiment is run can be meant, whatever problem it is for."""

from typing import Any

import numpy as np

from tsgrad.checks import BadInput, check_array, check_count

MOST_USERS = 2**31 - 1
LONGEST_DELAY = 10_000  # steps: what is on its way is kept


def _is_single(value: Any) -> bool:
    """Whether something is no list; lists of different lengths have no shape to ask for."""
    return not isinstance(value, list | tuple) and np.ndim(value) == 0


def checked_batch(batch: Any) -> int | tuple[int, ...]:
    """How many users each step has: one number, or one per step."""
    if _is_single(batch):
        return check_count("batch", batch, least=1, most=MOST_USERS)
    if not len(batch) or not all(map(_is_single, batch)):
        raise BadInput(f"batch must be one number or one per step, got {batch!r:.80}")
    sizes = tuple(check_count(f"batch[{step}]", size, least=1, most=MOST_USERS) for step, size in enumerate(batch))
    return 1 if set(sizes) == {1} else sizes


def checked_delay(delay: Any) -> Any:
    """How many steps late rewards are seen, or the probability of each number of steps."""
    if _is_single(delay):
        return check_count("delay", delay, least=0, most=LONGEST_DELAY)
    chances = check_array("delay", delay)
    if chances.ndim != 1 or not chances.size or chances.size > LONGEST_DELAY:
        raise BadInput(f"delay must be a number of steps or a list of probabilities, got shape {chances.shape}")
    if np.any(chances < 0) or np.sum(chances) > 1 + 1e-9 or np.sum(chances) <= 0:
        raise BadInput(f"delay must hold probabilities >= 0 that add up to one or less, got {delay!r:.80}")
    return 0 if chances.size == 1 and chances[0] == 1 else chances


def checked_floor(floor: Any) -> Any:
    """The smallest share of an arm; None where there is none."""
    checked = check_array("floor", floor)
    if checked.ndim or not 0 <= checked < 1:
        raise BadInput(f"floor must be a number from 0 to one over the number of arms, got {floor!r:.80}")
    return checked if checked > 0 else None


def checked_available(available: Any) -> Any:
    """Which arms there are: booleans [T, K], or the first and the last step of each [K, 2]."""
    try:
        array = np.asarray(available)
    except ValueError:  # lists of different lengths
        array = np.asarray(None)
    if array.dtype.kind in "iu" and array.ndim == 2 and array.shape[1] == 2 and array.size:
        if np.any(wrong := (array[:, 0] < 1) | (array[:, 1] < array[:, 0])):
            arm = int(np.flatnonzero(wrong)[0])
            raise BadInput(f"available[{arm}] must be a first step from 1 on and a last one, got {array[arm].tolist()}")
        return array.astype(np.int32)
    if array.dtype != np.bool_ or array.ndim != 2 or 0 in array.shape:
        raise BadInput(f"available must be booleans with axes [T, K], got {array.dtype} of shape {array.shape}")
    empty = np.flatnonzero(~array.any(axis=1))
    if empty.size:
        raise BadInput(f"available[{empty[0]}] must have an arm that can be played, got none")
    return array
