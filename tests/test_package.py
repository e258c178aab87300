"""The package itself: what it offers, and what importing it costs."""

import subprocess
import sys

import tsgrad as tg


def test_every_public_name_exists():
    for name in tg.__all__:
        assert getattr(tg, name) is not None


def test_importing_the_package_loads_neither_jax_nor_numpy():
    code = "import sys, tsgrad; print([name for name in ('jax', 'numpy', 'pydantic', 'rich') if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_the_command_line_starts_without_jax_and_numpy():
    code = "import sys, tsgrad.cli; print([name for name in ('jax', 'numpy') if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
