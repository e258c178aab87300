"""Whether what a ledger recorded contradicts the prior that its policy was deployed with."""

import itertools
from typing import Any

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.live.families import ArmFamily, Family, Units

LEDGERS = 199  # drawn from the prior: with the one at hand they are 200, so that p-values are multiples of 0.005
_STEPS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # logarithms, or standard deviations, by which other priors differ


def departure_p_value(law: ArmFamily, model: Any, units: Units) -> float:
    """The share of ledgers, this one among them, that speak as much against the prior of a model, or more.

    How much is the likelihood ratio: of the best of a grid of priors against this one. A ledger has few arms, with
    which the ratio is far from chi-square, so that its law is counted on `LEDGERS` others with the same pulls, drawn
    from the model. The seed is fixed: p is a function of the ledger.

    Args:
        law: the family of the model.
        model: the bandit whose prior is tested, the same for all arms.
        units: what each arm of the ledger was pulled and paid.

    >>> from tsgrad.live.families import family_of
    >>> from tsgrad.problems import BernoulliBandit
    >>> rates, pulls = np.array([0.03, 0.04, 0.05]), np.full(3, 1000.0)
    >>> law, model = family_of("bernoulli", None), BernoulliBandit(alpha=4.0, beta=96.0, arms=3)
    >>> departure_p_value(law, model, Units(pulls, rates * pulls, None)) > 0.1
    True
    >>> departure_p_value(law, model, Units(pulls, 10 * rates * pulls, None))
    0.005

    """
    generator = np.random.default_rng(0)
    parameters = np.array([np.ravel(getattr(model, name))[0] for name in law.names])
    free, scale = law.free(parameters), law.free_scale(parameters)
    moves = [0.0, *_STEPS, *(-step for step in _STEPS)]
    others = free + scale * np.array(list(itertools.product(moves, repeat=len(free))))
    own = _log_ratio(law, others, units)
    drawn = (law.simulated(free, units, generator) for _ in range(LEDGERS))
    return (1 + sum(_log_ratio(law, others, one) >= own for one in drawn)) / (1 + LEDGERS)


def _log_ratio(law: Family, others: FloatArray, units: Units) -> float:
    """How much more likely the best of other priors makes the units than the first one does, as a logarithm."""
    found = np.sum(law.unit_log_likelihoods(others[:, None], units), axis=-1)
    return float(np.max(np.where(np.isfinite(found), found, -np.inf)) - found[0])
