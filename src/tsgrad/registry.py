"""Names for classes, so that files can mention them: a file holds a name and numbers, and is never executed.

A registered class is saved as its fields and built again by passing them to its constructor as keywords, so that
what comes from disk passes the same checks as what a user writes.

    >>> from tsgrad.problems import GaussianBandit
    >>> to_data(GaussianBandit(arms=1, noise_std=2.0))
    {'kind': 'gaussian', 'prior_mean': [0.0], 'prior_std': [1.0], 'noise_std': [2.0]}
"""

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from tsgrad.checks import BadInput, check_choice

Registered = TypeVar("Registered", bound=type)

MOST_NESTED = 8

_CLASSES: dict[str, type] = {}
_NAMES: dict[type, str] = {}


def register(kind: str) -> Callable[[Registered], Registered]:
    """Class decorator: gives a problem, policy, metric or baseline the name under which files mention it.

    Args:
        kind: the name, which no other class may have.

    Returns:
        The decorator.

    Raises:
        BadInput: if another class has the name.

    >>> import tsgrad as tg
    >>> @tg.register("always-first")
    ... class AlwaysFirst(tg.Memoryless, tg.Rival):
    ...     @classmethod
    ...     def applies(cls, model):
    ...         return True
    ...     def prepare(self, problem, horizon):
    ...         return self
    ...     def act(self, model, belief, memory, context, clock, noise):
    ...         return 0
    >>> AlwaysFirst()
    AlwaysFirst()

    """
    if not isinstance(kind, str) or not kind:
        raise BadInput(f"kind must be a name, got {kind!r:.80}")

    def add(cls: Registered) -> Registered:
        if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
            raise BadInput(f"register({kind!r}) must decorate a problem, policy, metric or baseline, got {cls!r:.80}")
        taken = _CLASSES.get(kind)
        if taken is not None and taken.__qualname__ != cls.__qualname__:
            raise BadInput(f"kind {kind!r} already names {taken.__qualname__}: register under another name")
        _CLASSES[kind], _NAMES[cls] = cls, kind
        return cls

    return add


def kinds(base: type) -> list[str]:
    """The names of all registered classes that derive from `base`.

    >>> from tsgrad.problems import Problem
    >>> "gaussian" in kinds(Problem)
    True
    """
    return [kind for kind, cls in _CLASSES.items() if issubclass(cls, base)]


def registered_name(cls: type) -> str | None:
    """The name of a class in files; None where it has none.

    >>> from tsgrad.problems import GaussianBandit
    >>> registered_name(GaussianBandit)
    'gaussian'
    """
    return _NAMES.get(cls)


def registered_class(kind: str) -> Any:
    """The class that a name in files stands for."""
    return _CLASSES[kind]


def to_data(instance: Any) -> dict[str, Any]:
    """A registered instance as plain data: its kind and its fields, without those that are None."""
    cls = type(instance)
    if cls not in _NAMES:
        raise BadInput(f"{cls.__qualname__} can't be saved: decorate it with @tsgrad.register('a name of your own')")
    fields = {field.name: getattr(instance, field.name) for field in dataclasses.fields(cls)}
    return {"kind": _NAMES[cls], **{name: _plain(value) for name, value in fields.items() if value is not None}}


def from_data(data: Any, *, what: str, base: Any = object, others: Sequence[str] = ()) -> Any:
    """The instance of `base` that `to_data` described: a class, or a union. `what` and `others` are named in errors."""
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise BadInput(f"{what} must be a table with a kind, got {data!r:.80}")
    if what.count(".") > MOST_NESTED:
        raise BadInput(f"{what[:80]} is nested too deeply: tables may hold {MOST_NESTED} others, one in the other")
    try:
        kind = check_choice(f"{what}.kind", data["kind"], [*kinds(base), *others])
    except BadInput as unknown:
        raise BadInput(f"{unknown}; for a class of your own, import the module that registers it") from None
    fields = {
        str(name): from_data(value, what=f"{what}.{name}") if isinstance(value, dict) and "kind" in value else value
        for name, value in data.items()
        if name != "kind"
    }
    cls = _CLASSES[kind]
    accepted = inspect.signature(cls).parameters
    for name in fields:
        check_choice(f"a key of {what} (kind {kind!r})", name, accepted or ["kind"])
    for name, parameter in accepted.items():
        if parameter.default is inspect.Parameter.empty and name not in fields:
            raise BadInput(f"{what}.{name} is missing: kind {kind!r} needs it")
    try:
        return cls(**fields)
    except (TypeError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
        raise BadInput(f"{what} (kind {kind!r}) can't be made from its fields: {error!s:.120}") from None


def _plain(value: Any) -> Any:
    if type(value) in _NAMES or dataclasses.is_dataclass(value):
        return to_data(value)
    if hasattr(value, "__array__"):
        return np.asarray(value).tolist()
    return value
