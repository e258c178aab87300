"""What a prior says of the arms, in numbers that people read.

Each problem says it beside its own formulas, with `@assumed.register`; a problem of your own likewise.
"""

import functools
from typing import Any, NamedTuple

from tsgrad.arrays import FloatArray


class Assumed(NamedTuple):
    """Between which ends every arm's expected reward lies nine times out of ten, before anything is seen.

    Attributes:
        low: the lower end, [K].
        high: the upper end, [K].
        noise_std: the standard deviation of a single reward around its expectation, [K]; None where it follows from it.
        counted: whether rewards are things that are counted.

    """

    low: FloatArray
    high: FloatArray
    noise_std: FloatArray | None = None
    counted: bool = False


ENDS = (0.05, 0.95)


@functools.singledispatch
def assumed(problem: Any) -> Assumed | None:
    """What a problem's prior says of its arms; None where the problem doesn't say.

    >>> from tsgrad.problems import GaussianBandit
    >>> found = assumed(GaussianBandit(arms=2))
    >>> round(float(found.low[0]), 3), float(found.noise_std[0])
    (-1.645, 1.0)
    """
    return None
