"""Seeded damage: what a disk, an editor or a mistaken caller may do to what the library is given."""

import random

import numpy as np
import pytest

# How many cases of each kind: 1,000 in `make test`, 10,000 with those that are long.
SIZES = [1, pytest.param(9, marks=pytest.mark.long)]


def damaged(content: bytes, rng: random.Random) -> bytes:
    """A file after an accident: flipped bits, mostly; or cut off, or with a stretch lost, doubled or overwritten."""
    data = bytearray(content)
    if rng.random() < 0.7:
        for _ in range(rng.choice([1, 1, 2, 8])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(data)
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.choice([1, 10, 1000]))
    return bytes(
        rng.choice(
            [
                data[:start],
                data[:start] + data[end:],
                data[:end] + data[start:],
                data[:start] + rng.randbytes(end - start) + data[end:],
            ]
        )
    )


VALUES = (
    *("true", "-1", "0", "1e400", "nan", "inf", "-0.0", "3.7", "9223372036854775808", "1e-320", "0x10", "2020-01-01"),
    *("''", "'x'", "'\\u0000'", "'adam'", "'self'", "[]", "[[]]", "[1]", "[1,'a']", "[nan]", "{}", "{kind='gaussian'}"),
)


def mutated(text: str, rng: random.Random) -> str:
    """A configuration after a mistake: another value, a line lost, doubled, moved or renamed, or broken characters."""
    lines = text.splitlines()
    for _ in range(rng.choice([1, 1, 2, 3])):
        place = rng.randrange(len(lines))
        key, equals, _ = lines[place].partition("=")
        match rng.randrange(6):
            case 0 | 1 if equals:
                lines[place] = f"{key}= {rng.choice(VALUES)}"
            case 2:
                lines[place] = ""
            case 3:
                lines.insert(rng.randrange(len(lines)), lines[place])
            case 4:
                new = rng.choice(["", "x", "]", '"', "\0", "é"])
                lines[place] = lines[place].replace(rng.choice('aeio=[]"{.0'), new)
            case _:
                lines[place] = f"{key[:-2]}{equals}" + "[" * rng.choice([1, 50, 3000])
    return "\n".join(lines)


class Opaque:
    """What no function of the library can use."""

    def __repr__(self) -> str:
        return "<opaque>"


WRONG = (
    None,
    True,
    -1,
    0,
    2**70,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    b"bytes",
    [],
    [[]],
    {},
    {"kind": "gaussian"},
    (),
    Opaque(),
    Opaque,
    int,
    len,
    np.array([]),
    np.array(["a"]),
    np.array([[1.0, np.nan]]),
    np.ma.masked_array([1.0, 2.0], mask=[True, False]),
    np.array([object()], dtype=object),
    np.zeros((2, 2, 2, 2)),
    1j,
    [1, [2, 3]],
    np.datetime64("2020-01-01"),
)
