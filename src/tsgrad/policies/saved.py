"""Policies from files, with what they were trained for."""

from pathlib import Path
from typing import Any, NamedTuple

from tsgrad.artefact import read_json
from tsgrad.checks import BadInput
from tsgrad.policies.base import Policy
from tsgrad.problems import AnyProblem
from tsgrad.registry import from_data
from tsgrad_runtime.artefact import schema
from tsgrad_runtime.schema import check_schema


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
    check_schema(str(path), content, {**schema(), "required": ["policy"]})  # `Policy.save` writes the policy alone
    problem = content.get("problem")
    try:
        return Saved(
            policy=from_data(content["policy"], what="policy", base=Policy),
            problem=None if problem is None else from_data(problem, what="problem", base=AnyProblem),
            horizon=content.get("horizon"),
            conditions=content.get("conditions"),
        )
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
