"""Permutation p values that assume no distribution, as a second opinion on the t test.

Sign flips for paired units, rank sums for independent runs; exact, by counting, without random draws. Refuses
(returns None) more than 20 units a group, and rank sums with ties, where counting would not be exact.
A permutation test of n pairs cannot go below p = 2 / 2^n: the floor is returned with the p, so that a test
that could not have reached alpha is not held against the t test.
"""

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

UNIT_LIMIT: Final = 20

_ROUNDING: Final = 1e-12


class ExactP(msgspec.Struct, frozen=True):
    """A two-sided exact p and the smallest value that it could have had with this many units."""

    p: float
    floor: float


def sign_flip(log_ratios: Sequence[float]) -> ExactP | None:
    """Share of the 2^n sign patterns whose sum is at least as far from zero as the one seen; n in 1..20.

    Each half of the units is enumerated by itself and the halves are joined by binary search: n = 20 costs
    two lists of 1,024 sums, not a million.
    """
    n = len(log_ratios)
    if not 1 <= n <= UNIT_LIMIT:
        return None
    left = _signed_sums(log_ratios[: n // 2])
    right = np.sort(_signed_sums(log_ratios[n // 2 :]))
    slack = _ROUNDING * math.fsum(abs(d) for d in log_ratios)
    bound = abs(math.fsum(log_ratios)) - slack
    if bound <= 0:
        return ExactP(1.0, 2.0 ** (1 - n))
    below = np.searchsorted(right, -bound - left, side="right").sum()
    above = (right.size - np.searchsorted(right, bound - left, side="left")).sum()
    return ExactP(float(below + above) / 2.0**n, 2.0 ** (1 - n))


def rank_sum(baseline: Sequence[float], candidate: Sequence[float]) -> ExactP | None:
    """Exact Mann-Whitney p of two groups of 1..20 values without ties."""
    n, m = len(baseline), len(candidate)
    if not (1 <= n <= UNIT_LIMIT and 1 <= m <= UNIT_LIMIT) or len({*baseline, *candidate}) < n + m:
        return None
    wins = sum(b < c for b in baseline for c in candidate)
    ways = _rank_sum_ways(n, m)
    total = math.comb(n + m, n)
    tail = float(ways[: min(wins, n * m - wins) + 1].sum())
    return ExactP(min(1.0, 2 * tail / total), 2 / total)


def _signed_sums(values: Sequence[float]) -> NDArray[np.float64]:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums - value, sums + value])
    return sums


def _rank_sum_ways(n: int, m: int) -> NDArray[np.float64]:
    """Number of orders of n and m values with u wins, for u = 0..n*m (Gaussian binomial coefficients)."""
    ways = np.zeros(n * m + 1)
    ways[0] = 1
    for i in range(1, n + 1):
        longer = ways.copy()
        longer[m + i :] -= ways[: max(0, n * m + 1 - m - i)]
        for start in range(i):
            longer[start::i] = np.cumsum(longer[start::i])
        ways = longer
    return ways
