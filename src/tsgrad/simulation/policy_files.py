"""Policy files that can be played: the policy, what it prepares to be, its problem, horizon, conditions, arm names."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tsgrad.artefact import write_json
from tsgrad.checks import BadInput, check_name, check_path
from tsgrad.policies import Policy
from tsgrad.problems import AnyProblem, FiniteArms
from tsgrad.registry import registered_name, to_data
from tsgrad.simulation.conditions import EVERY_USER, Conditions
from tsgrad.simulation.episodes import ready_for
from tsgrad.simulation.workload import Workload
from tsgrad.streams import Purpose
from tsgrad_runtime.artefact import artefact_of


def write_policy(
    path: str | Path,
    policy: Policy,
    *,
    problem: AnyProblem,
    horizon: int,
    conditions: Conditions = EVERY_USER,
    arms: Sequence[str] | None = None,
    lineage: Sequence[dict[str, Any]] = (),
    expected: dict[str, float] | None = None,
) -> None:
    """Writes a policy with all that playing it needs, for `tsgrad_runtime.Agent.load` and `tsgrad serve`.

    Args:
        path: of the file, JSON.
        policy: what is to be played; tables of indices and what else it plans for its experiment are computed here, and
            written with it.
        problem: what it plays; policies see its model.
        horizon: steps of the experiment: decisions, or batches of them where `conditions` say so.
        conditions: those of the experiment.
        arms: their names; their numbers unless given.
        lineage: what the policy was trained from, the latest first.
        expected: the regret to expect, with its standard error, and whatever else is known of the policy.

    Raises:
        BadInput: if the policy can't play the problem under its conditions; if policy or problem are for simulation
            alone, as information-directed sampling and drifting arms are; or if `arms` are not as many different names
            as there are arms.

    >>> import tempfile, tsgrad as tg
    >>> from tsgrad_runtime import Agent
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tg.write_policy(
    ...         f"{folder}/policy.json",
    ...         tg.Thompson(),
    ...         problem=tg.BernoulliBandit(arms=2),
    ...         horizon=100,
    ...         arms=["red", "blue"],
    ...     )
    ...     print(Agent.load(f"{folder}/policy.json").arms)
    ['red', 'blue']

    """
    content = policy_content(
        policy, problem, horizon, conditions=conditions, arms=arms, lineage=lineage, expected=expected
    )
    check_playable(content)
    write_json(check_path("path", path), "policy", content)


def check_playable(content: dict[str, Any]) -> None:
    """Refuses a policy file that only simulations can play.

    >>> check_playable({"policy": {"kind": "thompson"}, "horizon": 9, "conditions": {"allocation": "proportional"},
    ...                 "problem": {"kind": "bernoulli", "alpha": [1, 1], "beta": [1, 1]}})
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: policy file: conditions: allocation 'proportional' can't be played user by user: \
train with 'independent'
    """
    artefact_of(json.loads(json.dumps(content)), "policy file")


def policy_content(
    policy: Policy,
    problem: AnyProblem,
    horizon: int,
    *,
    conditions: Conditions = EVERY_USER,
    arms: Sequence[str] | None = None,
    lineage: Sequence[dict[str, Any]] = (),
    expected: dict[str, float] | None = None,
) -> dict[str, Any]:
    """What a policy file holds; arguments as of `write_policy`."""
    workload = Workload(
        horizon=horizon,
        episodes=1,
        seed=0,
        purpose=Purpose.EVALUATION,
        precision="float64",  # as the runtime computes
        conditions=conditions,
    )
    ready = ready_for(problem, policy, workload)
    content: dict[str, Any] = {"policy": to_data(policy), "problem": to_data(problem), "horizon": workload.horizon}
    if conditions.table:
        content["conditions"] = conditions.table
    if registered_name(type(ready)) is not None and to_data(ready) != content["policy"]:
        content["plays"] = to_data(ready)
    if arms is not None:
        content["arms"] = check_names(arms, problem)
    tables = isinstance(lineage, list | tuple) and all(isinstance(table, dict) for table in lineage)
    if _is_told("lineage", lineage, tables, "a list of tables"):
        content["lineage"] = list(lineage)
    numbers = isinstance(expected, dict) and all(isinstance(value, int | float) for value in expected.values())
    if _is_told("expected", expected, numbers, "a table of numbers"):
        content["expected"] = expected
    return content


def _is_told(name: str, value: Any, fits: bool, wanted: str) -> bool:
    """Whether there is anything to write; BadInput where it is not what files can hold."""
    try:
        if value is None or (fits and json.dumps(value, allow_nan=False)):
            return bool(value)
    except (TypeError, ValueError, RecursionError):
        pass
    raise BadInput(f"{name} must be {wanted}, of text and finite numbers, got {value!r:.80}")


def check_names(arms: Sequence[str], problem: AnyProblem) -> list[str]:
    """Names of the arms of a problem, one each."""
    model = problem.model
    count = model.arms if isinstance(model, FiniteArms) else 0
    names = list(arms) if isinstance(arms, Iterable) and not isinstance(arms, str) else []
    if not all(isinstance(name, str) and name for name in names) or not len(set(names)) == len(names) == count:
        raise BadInput(f"arms must be {count} different names, one per arm, got {arms!r:.80}")
    return [check_name("arms", name) for name in names]
