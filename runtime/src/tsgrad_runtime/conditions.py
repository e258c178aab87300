"""What of an experiment's conditions its player must see to: when beliefs are renewed, floors, arms that come and go.

Late rewards need nothing: they count when they come. So does the choice at the end, which is not the policy's.
"""

from typing import Any, NamedTuple

import numpy as np

from tsgrad_runtime.checks import BadInput, FloatArray, check_choice, check_count, check_number
from tsgrad_runtime.streams import Noise

MOST_FLOORS = 1 + 1e-12  # of all arms together
_MOST_USERS = 2**31 - 1  # as many as the simulator can have
_MOST_STEPS = 10**7
_KEYS = ("batch", "allocation", "delay", "floor", "available", "after")


class Conditions(NamedTuple):
    """Steps of users who all see the same belief. Axes: `ends` [T], the users up to the end of each step; `available`
    [T, K] and `arms_left` [T, K], how many users are yet to come from each step on while each arm is there, one at
    least; both None where all arms are there at all times.

        >>> week = conditions_of({"batch": 200, "floor": 0.02}, horizon=7, arms=10)
        >>> week.users, week.step(0), week.step(200), week.first_user(1)
        (1400, 0, 1, 201)
    """

    ends: Any
    floor: float
    available: Any
    arms_left: Any

    @property
    def users(self) -> int:
        """How many there are in all: what policies take for the horizon."""
        return int(self.ends[-1])

    @property
    def batches(self) -> bool:
        """Whether any step has more than one user."""
        return self.users > len(self.ends)

    def step(self, users: int) -> int:
        """In which step the next user comes, after so many; the last one goes on."""
        return min(int(np.searchsorted(self.ends, users, side="right")), len(self.ends) - 1)

    def first_user(self, step: int) -> int:
        """The number of a step's first user, counted from one."""
        return 1 + (int(self.ends[step - 1]) if step else 0)

    def ends_step(self, users: int) -> bool:
        """Whether a step ends after so many users."""
        place = int(np.searchsorted(self.ends, users))
        return place == len(self.ends) or bool(self.ends[place] == users)

    def there(self, step: int, arms: int) -> Any:
        """Which of so many arms there are at a step of the schedule, [K]; those that were added have none, and stay."""
        added = np.ones(arms - self.available.shape[1], bool)
        return np.append(self.available[step], added)

    def staying(self, step: int, arms: int) -> Any:
        """How many users are yet to come from a step on while each of so many arms is there, [K]."""
        added = arms - self.available.shape[1]
        return np.append(self.arms_left[step], np.full(added, self.users - self.first_user(step) + 1))

    def step_without(self, kept: Any, step: int) -> int | None:
        """The first step, from one on, at which none of the kept arms [K] is there; None where there is none."""
        if self.available is None or kept[self.available.shape[1] :].any():
            return None if kept.any() else step
        bare = np.flatnonzero(~(self.available[step:] & kept[: self.available.shape[1]]).any(axis=1))
        return step + int(bare[0]) if bare.size else None

    def floored(self, shares: FloatArray, available: Any) -> FloatArray:
        """Shares [K] with the least one mixed in: floor + (1 - K floor) share, of the K arms that are there."""
        there = np.ones(len(shares), bool) if available is None else available
        count = np.sum(there)
        floor = min(self.floor, 1 / count)  # arms may have been added by a version of the policy with a smaller one
        return np.where(there, floor + (1 - count * floor) * shares, 0.0)


def left_to_chance(floor: float, noise: Noise, number: int, available: Any, arms: int) -> int | None:
    """The arm of a decision that is left to chance, so that every arm has its least share; None where it is not.

    Coin and arm are at the simulator's own addresses.
    """
    there = np.arange(arms) if available is None else np.flatnonzero(available)
    if noise.uniform(number, 1)[0] >= floor * len(there):
        return None
    which = int(noise.at(1).uniform(number, 1)[0] * len(there))
    return int(there[min(which, len(there) - 1)])


def conditions_of(table: Any, horizon: int, arms: int | None) -> Conditions | None:
    """From what a policy file says; None where there is nothing to see to."""
    if not table:
        return None
    for key in table:
        check_choice("a key of conditions", key, _KEYS)
    if table.get("allocation", "independent") != "independent":
        raise BadInput(
            f"conditions: allocation {table['allocation']!r:.40} can't be played user by user: train with 'independent'"
        )
    sizes = table.get("batch", 1)
    many = sizes if isinstance(sizes, list) else [sizes]
    counts = [check_count("conditions: batch", size, least=1, most=_MOST_USERS) for size in many]
    check_count("horizon under conditions", horizon, least=1, most=_MOST_STEPS)
    if len(counts) not in (1, horizon):
        raise BadInput(f"conditions: batch must be one number or {horizon}, one per step, got {len(counts)}")
    floor = check_number("conditions: floor", table.get("floor", 0.0))
    if not 0 <= floor * (arms or 1) <= MOST_FLOORS:
        raise BadInput(f"conditions: floor must be from 0 to one over the number of arms, got {floor}")
    sizes = np.broadcast_to(np.asarray(counts, np.int64), (horizon,))
    if np.sum(sizes) > _MOST_USERS:
        raise BadInput(f"conditions: batch must have at most {_MOST_USERS} users in all, got {np.sum(sizes)}")
    mask = _mask(table.get("available"), horizon, arms)
    left = None if mask is None else np.maximum(np.cumsum((sizes[:, None] * mask)[::-1], axis=0)[::-1], 1)
    return Conditions(np.cumsum(sizes), floor, mask, left)


def _mask(available: Any, horizon: int, arms: int | None) -> Any:
    if available is None:
        return None
    try:
        given = np.asarray(available)
    except ValueError:  # rows of different lengths
        given = np.asarray(None)
    if given.dtype.kind in "iu" and given.shape == (arms, 2):
        steps = np.arange(1, horizon + 1)[:, None]
        given = (given[:, 0] <= steps) & (steps <= given[:, 1])
    if given.dtype != np.bool_ or given.shape != (horizon, arms) or not given.any(axis=1).all():
        raise BadInput(f"conditions: available must have an arm for each of {horizon} steps, got {available!r:.80}")
    return None if given.all() else given
