"""Policies as the command line names them."""

import importlib
import json
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tsgrad.policies import Policy, Saved

NAMES = "by name, with options as in `scaled-thompson:factor=0.7`; the folder of a run; or a policy file."


def named_policy(name: str) -> "Policy | Saved":
    """A policy file or the folder of a run, whole; or a kind with its options: `kind:option=value,option=value`."""
    from tsgrad import policies
    from tsgrad.checks import BadInput, check_choice
    from tsgrad.policies import Policy, load
    from tsgrad.registry import from_data, kinds

    for module in pkgutil.walk_packages(policies.__path__, "tsgrad.policies."):  # each registers what it defines
        importlib.import_module(module.name)
    path = Path(name)
    if path.is_dir():
        if not (path / "policy.json").exists():
            raise BadInput(f"{path} holds no finished run: finish it with 'tsgrad resume {path}'")
        return load(path / "policy.json")
    if path.exists() or path.suffix == ".json":
        return load(path)
    kind, _, options = name.partition(":")
    check_choice("policy", kind, [*kinds(Policy), "the folder of a run", "a policy file"])
    policy: Policy = from_data({"kind": kind, **_options(name, options)}, what=f"policy {name!r}", base=Policy)
    return policy


def _options(name: str, text: str) -> dict[str, Any]:
    """`a=1,b=left` as {"a": 1, "b": "left"}: numbers where they are, words otherwise."""
    from tsgrad.checks import BadInput

    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise BadInput(f"policy must have options like 'kind:option=value', got {name!r}")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options
