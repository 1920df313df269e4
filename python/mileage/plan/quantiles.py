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


# Quantiles of Student's t distribution with a whole number of degrees of freedom, without scipy.
# A plan states the smallest detectable difference; the import of `scipy.special` for that one figure would take longer
# than the rest of `mileage plan`. `judge.distributions` has the distribution for fractional degrees of freedom.

_STEPS_MAX = 100
_LAST_STEP = 1e-9
"""Share of theta. Newton's method squares the error, so what is missing after a step this small is rounding."""


def t_quantile(freedom: int, probability: float) -> float:
    """The value that Student's t does not exceed with `probability`; agrees with scipy to 1e-10 of the value.

    With A(theta) = P(|T| <= sqrt(freedom) tan(theta)), solves A(theta) = 2 `probability` - 1 by Newton's method; then
    t = sqrt(freedom) tan(theta). A is concave, so that steps from 0 approach the solution from below and never pass it.

    Raises:
        ValueError: `freedom` below 1, or `probability` not in 0.5..1 (1 excluded).
    """
    if freedom < 1 or not 0.5 <= probability < 1:
        raise ValueError(f"found {freedom} and {probability}: expected 1 or more, and 0.5 to below 1")
    peak = 2 / math.sqrt(math.pi) * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    theta = 0.0
    for _ in range(_STEPS_MAX):
        missing = 2 * probability - 1 - _central_probability(freedom, theta)
        step = missing / (peak * math.cos(theta) ** (freedom - 1))
        theta += step
        if step <= _LAST_STEP * theta:
            break
    return math.sqrt(freedom) * math.tan(theta)


def _central_probability(freedom: int, theta: float) -> float:
    """P(|T| <= sqrt(freedom) tan(theta)): Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3-26.7.4."""
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * k / (k + 1)
    return 2 / math.pi * (theta + sine * total) if odd else sine * total
