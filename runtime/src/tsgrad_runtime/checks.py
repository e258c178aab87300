"""Checks on what users hand in. Every message names the argument, the value received and what would be right."""

import difflib
import operator
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import numpy as np

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


class BadInput(ValueError):
    """An argument, a setting or a file is not what it must be; the message is one line and says what to change.

    `reason` is the message without its `detail`, for pages that list what was refused: many share a reason.

    >>> str(BadInput("episodes must be a number, got [[1]   [2]]"))
    'episodes must be a number, got [[1] [2]]'
    >>> error = BadInput("the table is too large", detail=": 9 entries, at most 8 are kept")
    >>> print(error, "|", error.reason)
    the table is too large: 9 entries, at most 8 are kept | the table is too large
    """

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(" ".join(f"{message}{detail}".split()))
        self.reason = " ".join(str(message).split())


def check_count(name: str, value: Any, *, least: int, most: int | None = None) -> int:
    """An integer in [least, most].

    >>> check_count("horizon", 0, least=1)
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: horizon must be an integer >= 1, got 0
    """
    bound = f">= {least}" if most is None else f"from {least} to {most}"
    try:
        number = operator.index(value)
    except TypeError:
        raise BadInput(f"{name} must be an integer {bound}, got {value!r:.80}") from None
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        raise BadInput(f"{name} must be an integer {bound}, got {value!r:.80}")
    return number


def check_type(name: str, value: Any, kind: Any, *, remedy: str) -> None:
    """An object of some kind, a class or a union; `remedy` says what to give instead.

    >>> check_type("policy", 3, str, remedy="such as tsgrad.Thompson()")
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: policy must be a str, such as tsgrad.Thompson(), got int
    >>> check_type("problem", 3, str | bytes, remedy="such as b''")
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: problem must be a str or bytes, such as b'', got int
    """
    if isinstance(value, type) and issubclass(value, kind):
        raise BadInput(f"{name} must be an object, got the class {value.__name__}: call it, {remedy}")
    if not isinstance(value, kind):
        wanted = " or ".join(one.__name__ for one in get_args(kind) or (kind,))
        raise BadInput(f"{name} must be a {wanted}, {remedy}, got {type(value).__name__}")


def check_path(name: str, value: Any) -> Path:
    """A path, of a file or a folder.

    >>> check_path("out", None)
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: out must be a path, got None
    """
    if not isinstance(value, str | Path) or "\0" in str(value):
        raise BadInput(f"{name} must be a path, got {value!r:.80}")
    return Path(value)


def check_name(name: str, value: Any) -> str:
    """A text that every database and every answer can hold: in UTF-8, and without the character NUL.

    >>> check_name("arm", 7)
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: arm must be a text that UTF-8 can hold, without NUL, got 7
    """
    if isinstance(value, str) and "\0" not in value:
        try:
            value.encode()
        except UnicodeEncodeError:
            pass
        else:
            return value
    raise BadInput(f"{name} must be a text that UTF-8 can hold, without NUL, got {value!r:.80}")


def check_share(name: str, value: Any) -> float:
    """A number between 0 and 1.

    >>> check_share("level", "high")
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: level must be a number between 0 and 1, got 'high'
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 < value < 1:
        raise BadInput(f"{name} must be a number between 0 and 1, got {value!r:.80}")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """True or false, and nothing that is merely taken for it.

    >>> check_flag("single_time", "false")
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: single_time must be True or False, got 'false'
    """
    if not isinstance(value, bool | np.bool_):
        raise BadInput(f"{name} must be True or False, got {value!r:.80}")
    return bool(value)


_LARGEST = 1e75


def check_array(name: str, value: Any, *, above: float | None = None) -> FloatArray:
    """Finite float64 numbers, each greater than `above` where that is given; of a size that can be computed with, so
    that squares of their quotients are float64 numbers too.

    >>> check_array("noise_std", [0.1, -4.0], above=0)
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: noise_std[1] must be > 0, got -4.0
    """
    if isinstance(value, np.ma.MaskedArray):
        raise BadInput(f"{name} must be a plain array, got a masked one: fill it, or leave out what is masked")
    try:
        array = np.array(value)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind not in "iuf" and array.size:
        raise BadInput(f"{name} must be a number or an array of numbers, got {value!r:.80}")
    array = array.astype(np.float64)
    wrong = ~np.isfinite(array)
    remedy = "must be finite"
    if not wrong.any() and above is not None:
        wrong, remedy = array <= above, f"must be > {above:g}"
    if not wrong.any():
        wrong, remedy = np.abs(array) > _LARGEST, f"must be at most {_LARGEST:g} in size"
    if not wrong.any() and above == 0:
        wrong, remedy = array < 1 / _LARGEST, f"must be at least {1 / _LARGEST:g}"
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        index = f"[{', '.join(map(str, where))}]" if where else ""
        raise BadInput(f"{name}{index} {remedy}, got {array[where]}")
    return array


def check_number(name: str, value: Any, *, above: float | None = None) -> float:
    """One finite number, greater than `above` where that is given.

    >>> check_number("wait", [1, 2])
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: wait must be one number, got [1, 2]
    """
    number = check_array(name, value, above=above)
    if number.ndim:
        raise BadInput(f"{name} must be one number, got {value!r:.80}")
    return float(number)


def check_within(name: str, value: Any, low: float, high: float) -> float:
    """One number from `low` to `high`.

    >>> check_within("beta", 5, 0, 1)
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: beta must be a number from 0 to 1, got 5.0
    """
    number = check_number(name, value)
    if not low <= number <= high:
        raise BadInput(f"{name} must be a number from {low:g} to {high:g}, got {number}")
    return number


def check_arms(arms: int | None, **given: FloatArray) -> list[FloatArray]:
    """Per-arm arguments broadcast to one shape [K]; `arms` gives K where all of them are scalars.

    >>> check_arms(None, mean=np.zeros(3), std=np.ones(2))
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: mean has 3 arms and std has 2: give each one number, or one number per arm
    """
    for name, array in given.items():
        if array.ndim > 1:
            raise BadInput(f"{name} must be one number or one number per arm, got shape {array.shape}")
        if array.size == 0:
            raise BadInput(f"{name} must have at least one arm, got none")
    sizes = {name: array.shape[0] for name, array in given.items() if array.ndim}
    if arms is not None:
        sizes = {"arms": check_count("arms", arms, least=1, most=2**31 - 1), **sizes}
    if not sizes:
        raise BadInput("arms must say how many arms there are where every other argument is a single number")
    (first, size), *others = sizes.items()
    for name, other in others:
        if other != size:
            raise BadInput(
                f"{first} has {size} arms and {name} has {other}: give each one number, or one number per arm"
            )
    return [np.broadcast_to(array, (size,)).copy() for array in given.values()]


def check_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """One of the names on offer.

    >>> check_choice("metric", "maen", ["obs", "mean"])
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: metric must be one of obs, mean, got 'maen' (did you mean 'mean'?)
    """
    choices = list(choices)
    if isinstance(value, str) and value in choices:
        return value
    close = difflib.get_close_matches(str(value), choices, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise BadInput(f"{name} must be one of {', '.join(choices)}, got {value!r:.80}{hint}")
