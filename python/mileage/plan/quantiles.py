"""The number of observations that a quantile needs: the one rule by which a percentile is printed, judged or omitted.

Scope: the number of observations that lie beyond the quantile.
"""

from __future__ import annotations

import math
from typing import Final

BEYOND_MIN: Final = 10


def quantile_is_supported(count: int, quantile: float) -> bool:
    """Whether `count` observations leave at least BEYOND_MIN beyond the quantile (0.999 = p99.9)."""
    return count * (1 - quantile) >= BEYOND_MIN - 1e-9


def operations_needed(quantile: float) -> int:
    """The fewest observations that support the quantile: 1,000 for 0.99."""
    return math.ceil(BEYOND_MIN / (1 - quantile) - 1e-6)
