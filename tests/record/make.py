"""Writes the record of all cases: `PYTHONPATH=tests python -m record.make`, at a commit whose numbers are right.

With `--check` it holds the cases against the record instead, and says which differ.
"""

import hashlib
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from record.cases import CASES

RECORD = Path(__file__).with_name("record.json")
TOLERANCE = {"float32": 1e-3, "float64": 1e-9}


def made_by() -> dict[str, str]:
    """What the last bits of results depend on, beside the library itself."""
    return {**{name: version(name) for name in ("jax", "jaxlib", "numpy", "scipy", "optax")}, "cpu": cpu_digest()}


def cpu_digest() -> str:
    """Returns a digest of the processor's model and abilities, for which XLA compiles: either may move last bits."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    told = {line.partition(":")[0].strip(): line.partition(":")[2] for line in lines}
    model = [told.get(name, "") for name in ("vendor_id", "cpu family", "model", "model name", "stepping")]
    flags = sorted(told.get("flags", told.get("Features", "")).split())
    return hashlib.sha256(" ".join([platform.machine(), *model, *flags]).encode()).hexdigest()


def described(array: np.ndarray) -> dict[str, Any]:
    """An array as the record has it: a digest of all its bits, and a few numbers for where these can't be the same."""
    whole = np.ascontiguousarray(array)
    header = f"{whole.dtype.str} {array.shape} ".encode()
    numbers = np.asarray(array, np.float64)
    return {
        "sha256": hashlib.sha256(header + whole.tobytes()).hexdigest(),
        "size": numbers.size,
        "mean": float(numbers.mean()),
        "absolute_sum": float(np.abs(numbers).sum()),
        "first": numbers.ravel()[:3].tolist(),
    }


def main() -> None:
    """Computes every case and writes the record."""
    found = {name: computed(name) for name in CASES}
    RECORD.write_text(json.dumps({"made_by": made_by(), "cases": found}, indent=1, allow_nan=False) + "\n")


def computed(name: str) -> dict[str, Any]:
    """The arrays of a case, described."""
    return {array: described(value) for array, value in CASES[name]().items()}


def check() -> list[str]:
    """What differs from the record, a line each."""
    kept = json.loads(RECORD.read_text(encoding="utf-8"))
    same_machine = kept["made_by"] == made_by()
    wrong = [] if list(kept["cases"]) == list(CASES) else ["the record knows other cases"]
    for name in CASES.keys() & kept["cases"].keys():
        kind = name.partition(":")[0]
        exact = same_machine or kind == "native"
        if kind == "tied" and not exact:
            continue
        found, expected = computed(name), kept["cases"][name]
        if found.keys() != expected.keys():
            wrong.append(f"{name}: other arrays")
            continue
        wrong += [
            f"{name}: {array}"
            for array in found
            if found[array]["sha256"] != expected[array]["sha256"]
            and (exact or not close(found[array], expected[array], TOLERANCE[kind]))
        ]
    return wrong


def close(found: dict[str, Any], kept: dict[str, Any], tolerance: float) -> bool:
    """Whether the few numbers of an array agree, to a share of the mean absolute value of its entries."""
    ours, theirs = ([one["mean"], one["absolute_sum"] / one["size"], *one["first"]] for one in (found, kept))
    scale = tolerance * kept["absolute_sum"] / kept["size"]
    return found["size"] == kept["size"] and np.allclose(ours, theirs, rtol=tolerance, atol=scale)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        differing = check()
        print(*differing, sep="\n")
        sys.exit(1 if differing else 0)
    main()
