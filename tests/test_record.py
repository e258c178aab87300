"""Numbers are what they were when `tests/record/record.json` was made.

Where the packages that compute (JAX, NumPy and others) and the abilities of the processor are those of the record, each
array is the same, bit for bit. Elsewhere this holds for what the native kernels compute. Results of XLA and of NumPy's
functions differ there in their last bits: mean, mean absolute value and first entries agree to 1e-3 (float32) or 1e-9
(float64) of themselves or of the mean absolute value. In float32 a choice at a near-tie may rarely fall the other way
on another processor, and moves more than that; cases in which rounding decides exact ties are left out there.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.long
def test_numbers_are_those_of_the_record():
    """In a process of its own, which compiles as users do: the suite's own flags change last bits."""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, "-m", "record.make", "--check"],
        cwd=Path(__file__).parent,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
