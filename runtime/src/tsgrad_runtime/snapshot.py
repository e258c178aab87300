"""Snapshots: all of an agent's state as a file, from which it goes on, bit for bit."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tsgrad_runtime.agent import Agent
from tsgrad_runtime.artefact import read_artefact
from tsgrad_runtime.checks import BadInput
from tsgrad_runtime.decision import Open
from tsgrad_runtime.files import read_json, write_json
from tsgrad_runtime.models import IndependentArms
from tsgrad_runtime.roster import Roster


def write_snapshot(agent: Agent, path: str | Path) -> None:
    """Writes all of an agent's state, whole."""
    added = agent.model.parameters if isinstance(agent.model, IndependentArms) else None
    content = {
        "artefact": agent.artefact.name,
        "seed": agent.seed,
        "process": agent.process,
        "wait": agent.wait,
        "default": agent.default,
        "batch": agent.batch,
        "steps": agent.steps,
        "number": agent.number,
        "arms": agent.arms,
        "parameters": added and {name: values.tolist() for name, values in added.items()},
        "withdrawn": sorted(agent.roster.withdrawn),
        "belief": [part.tolist() for part in agent.belief],
        "memory": agent.memory and [part.tolist() for part in agent.memory],
        "open": [
            [name, _listed(one.arm), _listed(one.features), one.at, shown]
            for some, shown in ((agent.open, True), (agent.unshown, False))
            for name, one in some.items()
        ],
        "settled": agent.settled,
        "pending": [[_listed(features), _listed(arm), reward] for features, arm, reward in agent.pending],
    }
    write_json(path, "snapshot", content, version=version("tsgrad-runtime"))


def restored(policy: str | Path, path: str | Path, clock: Callable[[], float]) -> Agent:
    """The agent that wrote a snapshot, with the policy that it played."""
    artefact, content = read_artefact(policy), read_json(path, "snapshot")
    if content.get("artefact") != artefact.name:
        raise BadInput(f"{path} is of another policy than {policy}: give the one that it was made with")
    try:
        kept = ("seed", "process", "wait", "default", "batch")
        agent = Agent(artefact, clock=clock, **{name: content[name] for name in kept})
        if content["arms"] != agent.arms:
            agent.play(type(agent.model)(**content["parameters"]))
        agent.steps, agent.number = content["steps"], content["number"]
        agent.roster = Roster(content["arms"], content["withdrawn"])
        shapes = [part.shape[1:] for part in agent.model.prior()]
        agent.belief = tuple(
            np.array(part, np.float64).reshape(-1, *shape)
            for part, shape in zip(content["belief"], shapes, strict=True)
        )
        agent.memory = content["memory"] and tuple(np.array(part, np.float64) for part in content["memory"])
        for name, arm, features, at, shown in content["open"]:
            waiting = Open(_array(arm), None if features is None else np.array(features), at)
            (agent.open if shown else agent.unshown)[name] = waiting
        agent.settled = content["settled"]
        agent.pending = [
            (None if features is None else np.array(features), _array(arm), reward)
            for features, arm, reward in content["pending"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise BadInput(f"{path} is not a snapshot of this version: {error!s:.80}") from None
    return agent


def _listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _array(arm: Any) -> Any:
    return np.array(arm) if isinstance(arm, list) else arm
