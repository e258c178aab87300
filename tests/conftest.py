"""Shared by all tests: shapes checked at run time, and statistics that state how often they raise a false alarm."""

import os
import tempfile

import numpy as np
from jaxtyping import install_import_hook
from scipy import stats

# Tables kept by an earlier version must not stand in for those of this one.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="tsgrad-tests-")

# One core a worker, where tests run side by side: two thread pools on the same cores wait for each other at every step.
if os.environ.get("PYTEST_XDIST_WORKER") and hasattr(os, "sched_setaffinity"):
    _cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {_cores[int(os.environ["PYTEST_XDIST_WORKER"][2:]) % len(_cores)]})

# Where arrays flow, shapes are checked; where users hand things in, the library's own checks must speak.
install_import_hook(
    [
        "tsgrad.problems",
        "tsgrad.policies",
        "tsgrad.simulate.instance",
        "tsgrad.simulate.rollout",
        "tsgrad.estimate.episode",
        "tsgrad.estimate.look_ahead",
        "tsgrad.estimate.metrics",
        "tsgrad.estimate.baselines",
        "tsgrad.estimate.score",
    ],
    "shape_checker.check",
)


def largest_z(values, reference, standard_error):
    """The largest distance from the reference, in standard errors. An exact zero error must mean an exact match."""
    values, reference, standard_error = np.broadcast_arrays(values, reference, standard_error)
    distance = np.abs(values - reference)
    known = standard_error > 0
    assert np.all(distance[~known] < 1e-9)
    return float(np.max(distance[known] / standard_error[known], initial=0.0))


def z_bound(comparisons, false_alarm=1e-3):
    """The z that `comparisons` independent two-sided comparisons exceed together with this probability."""
    return float(stats.norm.isf(false_alarm / comparisons / 2))
