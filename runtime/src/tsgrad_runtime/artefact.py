"""The artefact: a policy with its problem, horizon and arm names, read from a file and checked before it is played."""

import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

from tsgrad_runtime.checks import BadInput, check_count, check_name
from tsgrad_runtime.conditions import Conditions, conditions_of
from tsgrad_runtime.files import EDITED, FORMAT, checksum, parsed
from tsgrad_runtime.models import Model, model_of
from tsgrad_runtime.policies import Policy, check_played, policy_of
from tsgrad_runtime.schema import check_schema

MOST_STEPS = 2**31 - 1  # of an experiment, as many as the simulator can have


class Artefact(NamedTuple):
    """A policy file that was read.

    Attributes:
        content: of the file, as plain data.
        name: a fingerprint of the content, which tells it from every other policy file.
        model: what is believed about the arms.
        policy: what decides.
        horizon: how many users the experiment has.
        arms: the names of the arms.
        conditions: under which the policy was trained, if any.

    """

    content: dict[str, Any]
    name: str
    model: Model
    policy: Policy
    horizon: int  # in users
    arms: tuple[str, ...]
    conditions: Conditions | None

    def policy_for(self, model: Model) -> Policy:
        """A policy of its own for another model: one with an arm more."""
        return _policy(self.content, model, self.horizon)


@functools.cache
def schema() -> dict[str, Any]:
    """The published schema of policy files."""
    text = Path(__file__).with_name("policy.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def read_artefact(path: str | Path) -> Artefact:
    """Reads a policy file. Nothing in it is executed.

    Args:
        path: of the file.

    Returns:
        The policy with its model, horizon and the names of its arms.

    Raises:
        BadInput: if the file is missing, damaged, or of a format that this version doesn't read.

    >>> import tempfile, tsgrad as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tg.write_policy(f"{folder}/policy.json", tg.Thompson(), problem=tg.BernoulliBandit(arms=2), horizon=100)
    ...     print(read_artefact(f"{folder}/policy.json").arms)
    ('0', '1')

    """
    content = parsed(path)
    if not isinstance(content, dict) or content.get("tsgrad") != "policy":
        raise BadInput(f"{path} is not a tsgrad policy file")
    if content.get("format") != FORMAT:
        raise BadInput(f"{path} has format {content.get('format')!r:.20}, this version reads {FORMAT}: write it again")
    check_schema(str(path), content, schema())
    told = content.pop("sha256")
    if told not in (EDITED, checksum(content)):
        raise BadInput(f"{path} is damaged, or was edited: write it again, or put {EDITED!r} in place of its sha256")
    return artefact_of(content, str(path))


def artefact_of(content: dict[str, Any], where: str) -> Artefact:
    """What the content of a policy file stands for; `where` is named in errors."""
    try:
        model = model_of(content["problem"])
        check_count("horizon", content["horizon"], least=1, most=MOST_STEPS)
        conditions = conditions_of(content.get("conditions"), content["horizon"], model.arms)
        horizon = content["horizon"] if conditions is None else conditions.users
        policy = _policy(content, model, horizon)
        check_played(policy, model, horizon)
        names = tuple(check_name("arms", name) for name in content.get("arms", map(str, range(model.arms or 0))))
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None
    count = model.arms or 0
    if len(names) != count or len(set(names)) != count or "" in names:
        raise BadInput(f"{where}: arms must be {count} different names, none of them empty, got {list(names)!r:.80}")
    return Artefact(content, checksum(content), model, policy, horizon, names, conditions)


def _policy(content: dict[str, Any], model: Model, horizon: int) -> Policy:
    return policy_of(content.get("plays", content["policy"]), model, horizon)
