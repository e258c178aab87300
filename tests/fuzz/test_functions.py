"""Public functions with wrong objects: each takes them, or says BadInput; no traceback, abort or hang."""

import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_cases import SIZES


@pytest.mark.parametrize("size", SIZES)
def test_wrong_objects(size, tmp_path):
    """270 and 2,430 calls. Some of what is wrong for most is right for others: None, 0, 1.5."""
    program = Path(__file__).with_name("wrong_objects.py")
    done = subprocess.run(
        [sys.executable, str(program), str(size)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        cwd=tmp_path,  # where some may write
    )
    assert done.returncode == 0, done.stderr
    (told,) = done.stdout.splitlines()
    assert int(told.removesuffix(" refused")) > 200 * size
