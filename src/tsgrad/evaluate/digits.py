"""Numbers as text: as many digits as their standard errors allow."""

import math
from collections.abc import Iterable

INTERVAL_Z = 1.96  # standard errors on either side of a 95% confidence interval
MOST_DECIMALS = 12


def decimals(standard_error: float, *, digits: int = 1, least: int = 1) -> int:
    """How many decimals are known: the last one worth printing is the given digit of the standard error.

    >>> decimals(0.12), decimals(0.034), decimals(7.0), decimals(0.00002)
    (1, 2, 1, 5)
    >>> decimals(0.098, digits=2), decimals(12.0, digits=2, least=0)
    (3, 0)
    """
    if not standard_error > 0:
        return max(2, least)
    return min(MOST_DECIMALS, max(least, digits - 1 - math.floor(math.log10(standard_error))))


def common_decimals(standard_errors: Iterable[float]) -> int:
    """The decimals of a column of numbers: two digits of the smallest standard error; three where none is known.

    >>> common_decimals([0.098, 0.21]), common_decimals([0.0]), common_decimals([0.00004, 0.0])
    (3, 3, 6)
    """
    known = [error for error in standard_errors if error > 0]
    return decimals(min(known), digits=2, least=0) if known else 3


def decimals_at(scale: float, *, least: int = 1) -> int:
    """The decimals of a number that is shown without its error: enough for two digits of what it is a part of.

    >>> decimals_at(25.8), decimals_at(0.5), decimals_at(0.004), decimals_at(0.0)
    (1, 2, 4, 1)
    """
    return min(MOST_DECIMALS, max(least, 1 - math.floor(math.log10(abs(scale))))) if scale else least


def fixed(value: float, digits: int) -> str:
    """A number with so many decimals, with a true minus sign, and never minus zero.

    >>> fixed(-3.14159, 2), fixed(-0.001, 1), fixed(12345.6, 0)
    ('−3.14', '0.0', '12,346')
    """
    text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")) == 0:
        return text.lstrip("-")
    return text.replace("-", "−")


def measured(value: float, standard_error: float) -> str:
    """A measurement with its standard error.

    >>> measured(15.436, 0.098), measured(0.0041234, 0.000052)
    ('15.44 ± 0.10', '0.00412 ± 0.00005')
    """
    digits = decimals(standard_error)
    return f"{fixed(value, digits)} ± {fixed(standard_error, digits)}"


def interval(value: float, standard_error: float) -> str:
    """The 95% confidence interval of a measurement.

    >>> interval(10.34, 0.16)
    '10.0 to 10.7'
    """
    digits = decimals(standard_error)
    low, high = value - INTERVAL_Z * standard_error, value + INTERVAL_Z * standard_error
    return f"{fixed(low, digits)} to {fixed(high, digits)}"


def percentage(part: float, whole: float) -> str:
    """A share; of nothing there is none.

    >>> percentage(10.3, 25.8), percentage(1.0, 0.0)
    ('40%', '–')
    """
    return f"{fixed(100 * part / whole, 0)}%" if whole else "–"
