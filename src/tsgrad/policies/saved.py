"""Policies from files, with what they were trained for."""

from pathlib import Path
from typing import Any, NamedTuple

from tsgrad.artefact import read_json
from tsgrad.checks import check_count, check_type
from tsgrad.policies.base import Policy
from tsgrad.problems import AnyProblem
from tsgrad.registry import from_data


class Saved(NamedTuple):
    """A policy from a file, with the problem and the horizon that it was trained for, where the file has them.

    Attributes:
        policy: the policy.
        problem: what it was trained for.
        horizon: how many steps it was trained for.
        conditions: those of its training, as a table: what `tsgrad.Conditions(**table)` takes.

    """

    policy: Any
    problem: AnyProblem | None
    horizon: int | None
    conditions: dict[str, Any] | None = None


def load(path: str | Path) -> Saved:
    """What `Policy.save` or a training run wrote; nothing in the file is executed.

    Args:
        path: of the file.

    Returns:
        The policy, and the problem and the horizon that it was trained for, where the file has them.

    Raises:
        BadInput: if the file is missing or damaged, or names a class that was not registered.

    >>> import tempfile, tsgrad as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tg.TopTwoThompson(0.5).save(f"{folder}/policy.json")
    ...     print(tg.load(f"{folder}/policy.json").policy.beta)
    0.5

    """
    content = read_json(path, "policy")
    problem, horizon, conditions = (content.get(name) for name in ("problem", "horizon", "conditions"))
    if conditions is not None:
        check_type(f"{path}: conditions", conditions, dict, remedy="a table")
    return Saved(
        policy=from_data(content.get("policy"), what=f"{path}: policy", base=Policy),
        problem=None if problem is None else from_data(problem, what=f"{path}: problem", base=AnyProblem),
        horizon=None if horizon is None else check_count(f"{path}: horizon", horizon, least=1),
        conditions=conditions,
    )
