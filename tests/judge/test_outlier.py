"""Grubbs's test against the published table, and by simulation."""

from __future__ import annotations

import math
import random

import pytest

from mileage.judge.outlier import odd_one


@pytest.mark.parametrize(
    ("count", "alpha", "critical"),
    [(4, 0.05, 1.481), (8, 0.05, 2.126), (10, 0.05, 2.290), (20, 0.05, 2.709), (10, 0.01, 2.482)],
)
def test_published_critical_values(count: int, alpha: float, critical: float) -> None:
    """Two-sided critical values of G (ASTM E178, ISO 5725-2: one value at 5 % and 1 %)."""

    def with_distance(wanted: float) -> list[float]:
        # Others at +-1 in turn around 0, one at x: G grows with x.
        others = [math.sin(3.0 * at) for at in range(count - 1)]
        low, high = 0.0, 1e9
        for _ in range(200):
            middle = (low + high) / 2
            values = [*others, middle]
            mean = sum(values) / count
            spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1))
            low, high = (middle, high) if (middle - mean) / spread < wanted else (low, middle)
        return [*others, high]

    assert odd_one(with_distance(critical * 1.002), alpha) == count - 1
    assert odd_one(with_distance(critical * 0.998), alpha) is None


def test_false_alarms_are_at_the_promised_level() -> None:
    rng = random.Random(1)
    studies = 4000
    found = sum(odd_one([rng.gauss(0, 1) for _ in range(8)], 0.05) is not None for _ in range(studies))
    assert found / studies == pytest.approx(0.05, abs=3 * math.sqrt(0.05 * 0.95 / studies))


def test_equal_values_and_few_values_have_no_odd_one() -> None:
    assert odd_one([1.0] * 9) is None
    assert odd_one([1.0, 1.0, 100.0]) is None
    assert odd_one([1.0] * 9 + [2.0]) == 9
