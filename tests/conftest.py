"""Shared by all tests: shapes checked at run time, one core a worker, no table kept from before, quick compilation."""

import ctypes
import gc
import os
import tempfile
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

# Tables kept by an earlier version must not stand in for those of this one.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="tsgrad-tests-")

# What one worker, module or command has compiled, no other compiles again: the first process makes the folder, all
# others inherit it.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="tsgrad-compiled-")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.3"

# One core a worker, where tests run side by side: two thread pools on the same cores wait for each other at every step.
if os.environ.get("PYTEST_XDIST_WORKER") and hasattr(os, "sched_setaffinity"):
    _cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {_cores[int(os.environ["PYTEST_XDIST_WORKER"][2:]) % len(_cores)]})

# XLA's older emitters compile in two thirds of the time and memory, which is where most of both goes in tests; their
# code is as fast, and differs in the last places alone. What compares bits with those of users drops the flag.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")

# Where arrays flow, shapes are checked; where users hand things in, the library's own checks must speak.
install_import_hook(
    [
        "tsgrad.laws",
        "tsgrad.problems",
        "tsgrad.policies",
        "tsgrad.simulation.instance",
        "tsgrad.simulation.step",
        "tsgrad.simulation.rollout",
        "tsgrad.estimate.look_ahead",
        "tsgrad.estimate.metrics_and_baselines",
        "tsgrad.estimate.score",
    ],
    "shape_checker.check",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of checks that hold for many cases, `make test` runs those that the marker `quick` names; the others are long."""
    for item in items:
        marker = item.get_closest_marker("quick")
        if marker is not None and item.callspec.id not in marker.args:
            item.add_marker(pytest.mark.long)
    # Two minutes in one piece: at the end, the other worker would have nothing left to do.
    items.sort(key=lambda item: item.path.name != "test_record.py")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Before fixtures of any scope: what takes longer to compile than to run is compiled without optimisation."""
    import jax

    jax.config.update("jax_disable_most_optimizations", item.get_closest_marker("formulas") is not None)


def forget_compilations():
    import jax

    jax.clear_caches()
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # else what was freed would still count, and what every later test compiles would go at once
        trim(0)


@pytest.fixture(scope="module", autouse=True)
def compiled_anew():
    """What a module has compiled goes with it: modules share hardly any compilation, and memory would only grow."""
    yield
    forget_compilations()


MOST_MEMORY = 3 * 2**29  # bytes
STATUS = Path("/proc/self/statm")


@pytest.fixture(autouse=True)
def within_memory():
    """Where a module compiles more than fits, what its tests could share goes too."""
    yield
    if STATUS.exists() and int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") > MOST_MEMORY:
        forget_compilations()
