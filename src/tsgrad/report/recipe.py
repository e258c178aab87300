"""How a policy was trained, in words."""

from collections.abc import Mapping
from typing import Any


def recipe_words(settings: Mapping[str, Any], *, rollouts: int | None) -> str:
    """The `[training]` table of a run, and how many runs of each episode its estimator plays, if known.

    >>> settings = {"iterations": 1000, "episodes": 2000, "learning_rate": 0.05, "schedule": "cosine",
    ...             "optimizer": {"name": "adam", "b2": 0.99}}
    >>> recipe_words(settings, rollouts=4)
    '1,000 iterations of 2,000 episodes, 4 runs each; adam (b2 0.99), learning rate 0.05, cosine'
    """
    runs = f", {rollouts} run{'s' * (rollouts > 1)} each" if rollouts else ""
    rate = settings["learning_rate"]
    parts = [f"{_call(settings.get('optimizer', 'adam'), 'name')}"]
    parts.append(f"learning rate {_call(rate, 'schedule') if isinstance(rate, Mapping) else f'{rate:g}'}")
    if settings.get("schedule") and not isinstance(rate, Mapping):
        parts.append(str(settings["schedule"]))
    if settings.get("clip_norm"):
        parts.append(f"gradients clipped at {settings['clip_norm']:g}")
    return f"{settings['iterations']:,} iterations of {settings['episodes']:,} episodes{runs}; {', '.join(parts)}"


def _call(value: Any, key: str) -> str:
    """What is called, with its arguments: a name alone, or a table with the name under `key`."""
    if not isinstance(value, Mapping):
        return str(value)
    arguments = ", ".join(f"{name} {number}" for name, number in value.items() if name != key)
    return f"{value[key]} ({arguments})" if arguments else str(value[key])
