"""Numbers in words: as many digits as their standard errors allow."""

import math
from typing import Any

import numpy as np

INTERVAL_Z = 1.96  # standard errors on either side of a 95% interval


def decimals(standard_error: float) -> int:
    """How many decimals are known: the first digit of the standard error is the last one worth printing.

    >>> decimals(0.12), decimals(0.034), decimals(7.0)
    (1, 2, 1)
    """
    if not standard_error > 0:
        return 2
    return min(4, max(1, -math.floor(math.log10(standard_error))))


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

    >>> measured(15.436, 0.098)
    '15.44 ± 0.10'
    """
    digits = decimals(standard_error)
    return f"{fixed(value, digits)} ± {fixed(standard_error, digits)}"


def interval(value: float, standard_error: float) -> str:
    """The 95% interval of a measurement.

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


def short(value: float) -> str:
    """A number of a setting or a meta-parameter: three digits.

    >>> short(0.0625), short(1234.5), short(-1.0), short(1e-9)
    ('0.0625', '1,230', '−1', '1e−9')
    """
    text = f"{float(f'{value:.3g}'):,.10g}" if abs(value) >= 1e-4 else f"{value:.3g}"
    return text.replace("-0", "-").replace("-", "−") if "e" in text else text.replace("-", "−")


def listing(values: Any, *, most: int = 8) -> str:
    """Numbers, as one where all are the same, and cut short where they are many.

    >>> listing([1.0, 1.0]), listing([0.1, 4.0]), listing(range(100), most=3)
    ('1', '0.1, 4', '0, 1, 2, …')
    """
    numbers = np.ravel(np.asarray(values, dtype=float))
    if np.all(numbers == numbers[0]):
        return short(numbers[0])
    shown = [short(number) for number in numbers[:most]]
    return ", ".join(shown + ["…"] * (len(numbers) > most))


def duration(seconds: float) -> str:
    """A time that a person can grasp.

    >>> duration(3.21), duration(75), duration(7384)
    ('3.2 s', '1 min 15 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
