"""Test whether one of several values is an outlier: Grubbs's test.

Scope: values that are normal but for at most one. Refuses fewer than four values, of which none can be unlike enough:
the answer is then that none is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from mileage._core import t_two_sided

ALPHA: Final = 0.01
"""The chance that a value is called odd where none is."""
VALUES_MIN: Final = 4


def odd_one(values: Sequence[float], alpha: float = ALPHA) -> int | None:
    """The place of the value that lies too far from the mean of all, or None.

    Two-sided, corrected for the choice of the farthest (F. Grubbs, Technometrics 11 (1969) 1): with G = distance over
    standard deviation of n values, t^2 = n (n-2) G^2 / ((n-1)^2 - n G^2) has Student's t with n - 2 degrees of freedom.
    """
    count = len(values)
    if count < VALUES_MIN:
        return None
    mean = math.fsum(values) / count
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    at = max(range(count), key=lambda place: abs(values[place] - mean))
    if spread == 0:
        return None
    squared = ((values[at] - mean) / spread) ** 2
    rest = (count - 1) ** 2 - count * squared
    # The other values are equal, so the standard deviation excludes nothing: G takes its largest possible value.
    t = math.inf if rest <= 0 else math.sqrt(count * (count - 2) * squared / rest)
    return at if count * t_two_sided(count - 2, t) < alpha else None
