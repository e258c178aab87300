"""Axes of a sweep: fields of a configuration with the values that each takes, and every combination of them."""

import copy
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from tsgrad.checks import BadInput, check_choice, check_count
from tsgrad.training import Configuration, checked_configuration

MOST_RUNS = 10_000
RANGE_KEYS = ("from", "to", "count", "scale")


def axis_values(field: str, given: Any) -> list[Any]:
    """The values of a field: those of a list, or of a range, which has both ends in it.

    A range is a table of `from`, `to`, `count` and, unless steps are to be equal, `scale = "log"`. Its numbers are
    whole where both ends are.

        >>> axis_values("training.horizon", {"from": 10, "to": 1000, "count": 3, "scale": "log"})
        [10, 100, 1000]
        >>> axis_values("problem.noise_std", {"from": 0.5, "to": 1.5, "count": 3})
        [0.5, 1.0, 1.5]
    """
    values = _range(field, given) if isinstance(given, Mapping) else given
    if not isinstance(values, list | tuple | np.ndarray) or len(values) == 0:
        raise BadInput(f"axes: {field} must be a list of values, or a range with from, to and count, got {given!r:.80}")
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    for place, value in enumerate(plain):
        if value in plain[:place]:
            raise BadInput(f"axes: {field} must have every value once, got {value!r:.80} twice")
    return plain


def _range(field: str, given: Mapping[str, Any]) -> list[Any]:
    for key in given:
        check_choice(f"axes: a key of the range of {field}", str(key), RANGE_KEYS)
    low, high = given.get("from"), given.get("to")
    numbers = [end for end in (low, high) if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(numbers) < 2 or not np.all(np.isfinite(numbers)):
        raise BadInput(f"axes: the range of {field} must have numbers as from and to, got {low!r:.40} and {high!r:.40}")
    count = check_count(f"axes: count of the range of {field}", given.get("count"), least=2, most=MOST_RUNS)
    scale = check_choice(f"axes: scale of the range of {field}", given.get("scale", "linear"), ("linear", "log"))
    if scale == "log" and min(numbers) <= 0:
        raise BadInput(f"axes: the range of {field} must be above 0 on a log scale, got {min(numbers)}")
    first, last = numbers
    spaced = np.geomspace(first, last, count) if scale == "log" else np.linspace(first, last, count)
    if all(isinstance(end, int) for end in numbers):
        return list(dict.fromkeys(int(value) for value in np.rint(spaced)))
    return [float(f"{value:.12g}") for value in spaced]  # 0.3 rather than 0.30000000000000004


def combinations(axes: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """The values of every run by field, the last axis changing fastest.

    >>> combinations({"a.b": [1, 2], "a.c": ["x"]})
    [{'a.b': 1, 'a.c': 'x'}, {'a.b': 2, 'a.c': 'x'}]
    """
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def configuration_at(tables: Mapping[str, Any], values: Mapping[str, Any]) -> Configuration:
    """The configuration with some fields set: it is checked, and all that it describes is built once."""
    data: Any = copy.deepcopy(dict(tables))
    where = ", ".join(f"{field} = {value}" for field, value in values.items())
    for field, value in values.items():
        *path, name = field.split(".")
        table = data
        for step in path:
            table = table.setdefault(step, {})
            if not isinstance(table, dict):
                raise BadInput(f"axes: {field} must name a field of a table of the configuration")
        if not path or not name:
            raise BadInput(f"axes: {field} must be a table and a field, such as training.horizon")
        table[name] = value
    configuration = checked_configuration(data, where=f"at {where}: ")
    try:
        problem = configuration.build_problem()
        configuration.build_policy(problem)
        configuration.build_conditions().check(problem, configuration.training.horizon)
        configuration.build_estimator(problem).check(problem, configuration.build_conditions())
    except BadInput as wrong:
        raise BadInput(f"at {where}: {wrong}") from None
    return configuration
