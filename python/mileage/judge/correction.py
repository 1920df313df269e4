"""Adjusted p values for a family of comparisons: Holm 1979, Benjamini and Hochberg 1995.

An adjusted p is compared with alpha as if it were the only one. Holm bounds the chance of a single false
alarm in the family, under any dependence; Benjamini-Hochberg bounds the expected share of false alarms among
the discoveries. Refuses anything that is not a probability.
"""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given: running maximum of (m - rank) * p, at most 1."""
    _check(p_values)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(_ascending(p_values)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini-Hochberg step-up adjustment, in the order given: running minimum of m / (rank + 1) * p."""
    _check(p_values)
    count = len(p_values)
    adjusted = [0.0] * count
    smallest = 1.0
    for rank, index in reversed(list(enumerate(_ascending(p_values)))):
        smallest = min(smallest, max(p_values[index], p_values[index] * count / (rank + 1)))
        adjusted[index] = smallest
    return adjusted


def _ascending(p_values: Sequence[float]) -> list[int]:
    return sorted(range(len(p_values)), key=lambda index: p_values[index])


def _check(p_values: Sequence[float]) -> None:
    for p in p_values:
        if not 0 <= p <= 1:
            raise ValueError(f"{p} is not a probability")
