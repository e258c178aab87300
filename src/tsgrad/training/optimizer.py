"""Optimizers and schedules by name: the natural gradient, and whatever optax has."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import optax

from tsgrad.checks import BadInput, check_choice
from tsgrad.training.natural import natural


def schedules() -> dict[str, Callable[..., Any]]:
    """Every schedule of optax, by its name there."""
    names = [name for name in dir(optax.schedules) if name.endswith(("_schedule", "_decay")) and name[0] != "_"]
    return {name: getattr(optax.schedules, name) for name in names}


def optimizers() -> dict[str, Callable[..., Any]]:
    """The natural gradient, and every optimizer of optax that a learning rate is enough for, by its name there."""
    found: dict[str, Callable[..., Any]] = {"natural": natural}
    for name in dir(optax):
        function = getattr(optax, name)
        # L-BFGS needs the objective itself, which no simulator gives; scale_by_* are parts of optimizers.
        if inspect.isfunction(function) and not name.startswith(("_", "scale_by_", "lbfgs")):
            parameters = list(inspect.signature(function).parameters.values())
            required = [one.name for one in parameters if one.default is inspect.Parameter.empty]
            if parameters and parameters[0].name == "learning_rate" and required == ["learning_rate"]:
                found[name] = function
    return found


def check_named_call(argument: str, call: Mapping[str, Any], key: str, known: Mapping[str, Callable[..., Any]]) -> None:
    """A table that names a function and gives its arguments."""
    if key not in call:
        raise BadInput(f"{argument} is missing: name one of {', '.join(sorted(known))}")
    function = known[check_choice(argument, call[key], sorted(known))]
    accepted = inspect.signature(function).parameters
    for name in call.keys() - {key}:
        check_choice(f"an argument of {call[key]}", name, [other for other in accepted if other != "learning_rate"])


class Ascent(NamedTuple):
    """How meta-parameters are moved: the optimizer's state for a vector of them, and one compiled step.

    `step` takes the vector, the gradient, the Fisher matrix or None, and the state; it gives the next vector and state.
    """

    start: Callable[[Any], Any]
    step: Callable[[Any, Any, Any, Any], tuple[Any, Any]]


def build_ascent(
    learning_rate: float | Mapping[str, Any],
    schedule: str | None,
    optimizer: str | Mapping[str, Any],
    clip_norm: float | None,
    *,
    iterations: int,
) -> Ascent:
    """The optax chain: clipping of the gradient's norm where asked for, then the optimizer.

    Trainings that follow each other share it, and what was compiled for it, unless tables of arguments are given.
    """
    plain = isinstance(optimizer, str) and not isinstance(learning_rate, Mapping)
    build = _shared_ascent if plain else _ascent
    return build(learning_rate, schedule, optimizer, clip_norm, iterations)


def _ascent(
    learning_rate: float | Mapping[str, Any],
    schedule: str | None,
    optimizer: str | Mapping[str, Any],
    clip_norm: float | None,
    iterations: int,
) -> Ascent:
    rate: Any = learning_rate
    if isinstance(learning_rate, Mapping):
        rate = _called(learning_rate, "schedule", schedules())
    elif schedule == "cosine":
        rate = optax.schedules.cosine_decay_schedule(learning_rate, iterations)
    call = {"name": optimizer} if isinstance(optimizer, str) else optimizer
    named = _called({"learning_rate": rate, **call}, "name", optimizers())
    whole = named if clip_norm is None else optax.chain(optax.clip_by_global_norm(clip_norm), named)
    chain = optax.with_extra_args_support(whole)

    def step(vector: Any, gradient: Any, fisher: Any, state: Any) -> tuple[Any, Any]:
        updates, state = chain.update(-gradient, state, vector, fisher=fisher)
        return optax.apply_updates(vector, updates), state

    return Ascent(chain.init, jax.jit(step))


_shared_ascent = functools.lru_cache(maxsize=16)(_ascent)


def is_natural(optimizer: str | Mapping[str, Any]) -> bool:
    """Whether an optimizer, as settings name it, is the natural gradient."""
    return (optimizer if isinstance(optimizer, str) else optimizer.get("name")) == "natural"


def _with_whole_keys(value: Any) -> Any:
    """Steps as integers: a TOML table can't have other keys than strings."""
    if isinstance(value, dict) and all(isinstance(key, str) and key.isdigit() for key in value):
        return {int(key): inner for key, inner in value.items()}
    return value


def _called(call: Mapping[str, Any], key: str, known: Mapping[str, Callable[..., Any]]) -> Any:
    arguments = {name: _with_whole_keys(value) for name, value in call.items() if name != key}
    try:
        return known[call[key]](**arguments)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{call[key]}: {error}") from None
