"""The rules of thumb: what they say, and how often they are wrong when nothing differs."""

import numpy as np
import pytest

from mileage.judge.rules import bar_clears_zero, bars_apart


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
