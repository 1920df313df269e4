"""Precision of each cell after a few repetitions, and the smallest difference that they could still detect.

Scope: cells measured in randomised blocks, whose noise is pooled: the standard deviation of the logarithms
around each cell's own mean, with the degrees of freedom of all cells together. The half-width is Student's t for the
mean of one cell; the minimal detectable effect is the difference of two cells that a test at 5 % finds in 80 % of
cases: (t(0.975) + t(0.8)) s sqrt(2 / n). Both are relative: 0.02 is 2 %.
It never looks at a difference between cells, so a rule that ends on it cannot prefer a result.
What it refuses: values that are not above 0, which have no logarithm: nothing is known then.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import msgspec

from mileage._core import t_quantile

_EXPONENT_MAX = 700.0


class Precision(msgspec.Struct, frozen=True):
    """Precision reached after some blocks."""

    blocks: int
    """Repetitions of the cell that has fewest."""
    half_width: float
    """Half-width of the 95 % interval of a cell's mean, as a share of the mean; infinite where it is unknown."""
    detectable: float
    """The smallest relative difference of two cells that would be found in 80 % of cases."""


def precision(cells: Sequence[Sequence[float]]) -> Precision:
    """The precision of cells, each with its values. ValueError without any cell."""
    if not cells:
        raise ValueError("found no cell: expected at least one")
    n = min(len(values) for values in cells)
    freedom = sum(len(values) - 1 for values in cells)
    if n < 2 or any(value <= 0 or not math.isfinite(value) for values in cells for value in values):
        return Precision(n, math.inf, math.inf)
    squares = 0.0
    for values in cells:
        logs = [math.log(value) for value in values]
        mean = statistics.fmean(logs)
        squares += sum((log - mean) ** 2 for log in logs)
    sd = math.sqrt(squares / freedom)
    reach = t_quantile(freedom, 0.975)
    power = t_quantile(freedom, 0.8)
    half = reach * sd / math.sqrt(n)
    return Precision(n, _relative(half), _relative((reach + power) * sd * math.sqrt(2 / n)))


def _relative(logarithm: float) -> float:
    """A distance on the log scale as a share; without overflow."""
    return math.expm1(min(logarithm, _EXPONENT_MAX))
