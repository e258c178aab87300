"""Policy files that can be played: the policy, what it prepares to be, its problem, horizon and arm names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tsgrad.artefact import write_json
from tsgrad.checks import BadInput, check_count
from tsgrad.policies.base import Policy, prepared
from tsgrad.problems import AnyProblem, FiniteArms
from tsgrad.registry import registered_name, to_data
from tsgrad_runtime.policies import NOT_PLAYED


def write_policy(
    path: str | Path,
    policy: Policy,
    *,
    problem: AnyProblem,
    horizon: int,
    arms: Sequence[str] | None = None,
    lineage: Sequence[dict[str, Any]] = (),
    expected: dict[str, float] | None = None,
) -> None:
    """Writes a policy with all that playing it needs, for `tsgrad_runtime.Agent.load` and `tsgrad serve`.

    Args:
        path: of the file, JSON.
        policy: what is to be played; tables of indices are computed here, and written with it.
        problem: what it plays; policies see its model.
        horizon: decisions of an experiment.
        arms: their names; their numbers unless given.
        lineage: what the policy was trained from, the latest first.
        expected: the regret to expect, with its standard error, and whatever else is known of the policy.

    Every policy that this writes can be played. Information-directed sampling is refused: it is for simulation alone.

    """
    content = policy_content(policy, problem, horizon, arms, lineage, expected)
    kind = content.get("plays", content["policy"])["kind"]
    if kind in NOT_PLAYED:
        raise BadInput(f"policy {kind!r} can't be played, and is not written: {NOT_PLAYED[kind]}")
    write_json(path, "policy", content)


def policy_content(
    policy: Policy,
    problem: AnyProblem,
    horizon: int,
    arms: Sequence[str] | None = None,
    lineage: Sequence[dict[str, Any]] = (),
    expected: dict[str, float] | None = None,
    users: int | None = None,
) -> dict[str, Any]:
    """What a policy file holds; `users` is the horizon in users, where its steps are batches of them."""
    horizon = check_count("horizon", horizon, least=1)
    ready = prepared(policy, problem, horizon if users is None else users)
    content: dict[str, Any] = {"policy": to_data(policy), "problem": to_data(problem), "horizon": horizon}
    if registered_name(type(ready)) is not None and to_data(ready) != content["policy"]:
        content["plays"] = to_data(ready)
    if arms is not None:
        content["arms"] = check_names(arms, problem)
    if lineage:
        content["lineage"] = list(lineage)
    if expected:
        content["expected"] = dict(expected)
    return content


def check_names(arms: Sequence[str], problem: AnyProblem) -> list[str]:
    """Names of the arms of a problem, one each."""
    model = problem.model
    count = model.arms if isinstance(model, FiniteArms) else 0
    names = list(arms)
    if len(names) != count or len(set(names)) != count or not all(isinstance(name, str) and name for name in names):
        raise BadInput(f"arms must be {count} different names, one per arm, got {names!r:.80}")
    return names
