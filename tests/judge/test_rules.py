"""The rules of thumb: what they say, and how often they are wrong when nothing differs."""

import numpy as np
import pytest

from mileage.judge.rules import (
    BARELY_CODES,
    Barely,
    arithmetic_change,
    bar_clears_zero,
    barely,
    bars_apart,
    relative_deviation,
)


@pytest.mark.parametrize(
    ("runs", "apart", "clears"),
    [(3, 0.082, 0.344), (5, 0.016, 0.190), (10, 0.0003, 0.052), (30, 0.0, 0.0006)],
)
def test_their_false_alarms_are_those_that_theory_gives(runs: int, apart: float, clears: float) -> None:
    rng = np.random.default_rng(runs)
    arms = 100 + rng.normal(0, 1, (2, 2000, runs))
    pairs = [(a.tolist(), b.tolist()) for a, b in zip(*arms, strict=True)]
    for rule, expected in ((bars_apart, apart), (bar_clears_zero, clears)):
        share = sum(rule(a, b) == "different" for a, b in pairs) / len(pairs)
        assert share == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 2000) ** 0.5 + 0.001)


def test_worked_readings() -> None:
    assert bars_apart([99, 101], [103, 105]) == "different"
    assert bars_apart([99, 101], [101, 103]) == "nothing can be said"
    assert bar_clears_zero([100, 100], [103, 105]) == "different"
    assert bar_clears_zero([100, 100], [99, 103]) == "nothing can be said"
    assert bars_apart([1], [1, 2]) == bar_clears_zero([0, 0], [1, 2]) == "not available"


def test_the_change_of_arithmetic_means() -> None:
    """Worked by hand: means 100 and 110, though the geometric means differ by more."""
    assert arithmetic_change([50, 150], [110, 110]) == pytest.approx(0.10)
    assert arithmetic_change([], [1]) is arithmetic_change([0], [1]) is None
    assert relative_deviation([90, 110]) == pytest.approx(200**0.5 / 100)
    assert relative_deviation([1]) is None


@pytest.mark.parametrize(
    ("effect", "interval", "deviation", "codes"),
    [
        (
            16.95,
            (4.0, 29.9),
            13.84,
            ("spread-exceeds-half-change",),
        ),  # the rewrite of a record of 1 MB, table 14 of the study of 2011
        (16.95, (4.0, 29.9), 8.0, ()),
        (-16.95, (-29.9, -1.9), 8.0, ("interval-reaches-margin",)),
        (-16.95, (-29.9, -2.1), 8.0, ()),
        (3.0, (1.0, 5.0), 2.0, BARELY_CODES),
        (3.0, None, None, ()),
    ],
)
def test_a_difference_that_is_barely_one(
    effect: float, interval: tuple[float, float] | None, deviation: float | None, codes: tuple[Barely, ...]
) -> None:
    assert barely(effect, interval, 2.0, deviation) == codes
    # A swapped difference, on a scale whose zero is no change, is as close.
    ends = None if interval is None else (-interval[1], -interval[0])
    assert barely(-effect, ends, 2.0, deviation) == codes
