"""Shared by all tests: shapes checked at run time, one core a worker, no table kept from before."""

import os
import tempfile

from jaxtyping import install_import_hook

# Tables kept by an earlier version must not stand in for those of this one.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="tsgrad-tests-")

# One core a worker, where tests run side by side: two thread pools on the same cores wait for each other at every step.
if os.environ.get("PYTEST_XDIST_WORKER") and hasattr(os, "sched_setaffinity"):
    _cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {_cores[int(os.environ["PYTEST_XDIST_WORKER"][2:]) % len(_cores)]})

# Where arrays flow, shapes are checked; where users hand things in, the library's own checks must speak.
install_import_hook(
    [
        "tsgrad.laws",
        "tsgrad.problems",
        "tsgrad.policies",
        "tsgrad.simulation.instance",
        "tsgrad.simulation.step",
        "tsgrad.simulation.rollout",
        "tsgrad.estimate.episode",
        "tsgrad.estimate.look_ahead",
        "tsgrad.estimate.metrics",
        "tsgrad.estimate.baselines",
        "tsgrad.estimate.score",
    ],
    "shape_checker.check",
)
