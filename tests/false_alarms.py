"""Statistics of tests, which say how often they raise a false alarm."""

import numpy as np
from scipy import stats


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
