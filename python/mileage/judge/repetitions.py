"""Centre and precision of a few repetitions of one measurement: the median, and a confidence interval of the mean.

The interval is Student's t on the logarithms (n - 1 degrees of freedom), so it is one of the geometric mean, and its
ends are ratios. Two values are needed; with a standard deviation of zero the interval is the value itself.
Refuses values that are not above 0: they have no logarithm.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import msgspec

from mileage.plan.student_t import t_quantile


class Spread(msgspec.Struct, frozen=True):
    """Repetitions of one value."""

    n: int
    median: float
    low: float | None
    """Lower end of the 95 % interval of the geometric mean; None for one value."""
    high: float | None
    """Upper end; None for one value."""


def spread(values: Sequence[float]) -> Spread:
    """Median and 95 % interval of the geometric mean of repetitions. ValueError unless all are above 0."""
    if not values or min(values) <= 0:
        raise ValueError(f"found {list(values)}: expected one or more values above 0")
    n, median = len(values), statistics.median(values)
    if n == 1:
        return Spread(1, median, None, None)
    logs = [math.log(value) for value in values]
    mean = statistics.fmean(logs)
    half = t_quantile(n - 1, 0.975) * statistics.stdev(logs) / math.sqrt(n)
    return Spread(n, median, _exp(mean - half), _exp(mean + half))


def _exp(exponent: float) -> float:
    """E to a power, without overflow: an interval that wide says only that nothing is known."""
    return math.exp(min(max(exponent, -700.0), 700.0))
