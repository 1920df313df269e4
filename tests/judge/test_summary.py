"""Summaries of one cell against scipy, worked figures and the tables of the method."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mileage.judge.summary import (
    median_interval,
    summarise,
    superiority,
    total_work_rate,
)
from mileage.plan.quantiles import quantile_is_supported

VALUES = st.lists(st.floats(1e-3, 1e9), min_size=2, max_size=40)


@given(VALUES)
def test_every_figure_is_what_scipy_says(values: list[float]) -> None:
    found = summarise(values)
    assert found.n == len(values)
    assert found.mean == pytest.approx(np.mean(values), rel=1e-9)
    assert found.geometric_mean == pytest.approx(stats.gmean(values), rel=1e-9)
    assert found.median == pytest.approx(np.median(values), rel=1e-9)
    assert found.sd == pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-9 * max(values))
    assert (found.minimum, found.maximum) == (min(values), max(values))
    assert found.geometric_mean is not None
    assert found.mean_ci95 is not None
    assert found.mean_ci95[0] <= found.geometric_mean <= found.mean_ci95[1]
    logs = np.log(values)
    if np.std(logs) > 1e-9:
        low, high = stats.t.interval(0.95, len(values) - 1, logs.mean(), stats.sem(logs))
        assert found.mean_ci95 == pytest.approx((math.exp(low), math.exp(high)), rel=1e-6)


@pytest.mark.parametrize(
    ("n", "low", "high", "confidence"),
    [
        (6, 1, 6, 0.969),
        (8, 1, 8, 0.992),
        (10, 2, 9, 0.979),
        (12, 3, 10, 0.961),
        (20, 6, 15, 0.959),
        (30, 10, 21, 0.957),
    ],
)
def test_the_median_is_enclosed_by_the_known_order_statistics(
    n: int, low: int, high: int, confidence: float
) -> None:
    values = list(range(1, n + 1))
    assert median_interval(values)[0] == (low, high)
    assert median_interval(values)[1] == pytest.approx(confidence, abs=5e-4)


@given(st.integers(6, 200))
def test_the_median_interval_is_the_innermost_that_holds_95_percent(n: int) -> None:
    interval, confidence = median_interval(list(range(1, n + 1)))
    assert interval is not None
    rank = int(interval[0])
    assert confidence == pytest.approx(1 - 2 * stats.binom.cdf(rank - 1, n, 0.5), abs=1e-12)
    assert stats.binom.cdf(rank - 1, n, 0.5) <= 0.025 < stats.binom.cdf(rank, n, 0.5)


def test_what_a_sample_cannot_carry_is_said() -> None:
    assert summarise([]).notes == ("no-run",)
    one = summarise([5.0])
    assert (one.mean, one.sd, one.mean_ci95, one.median_ci) == (5.0, None, None, None)
    assert "one-run" in one.notes
    zero = summarise([0.0, 1.0])
    assert zero.geometric_mean is None
    assert zero.mean == 0.5
    assert (zero.completed, zero.asked) == (1, 2)
    lost = summarise([1.0, 2.0], failed=1)
    assert (lost.geometric_mean, lost.completed, lost.asked) == (None, 2, 3)
    assert "failed" in lost.notes
    assert summarise([1.0, math.nan, 2.0]).notes[0] == "not-finite"
    assert summarise([3.0] * 6).sd == 0


@given(VALUES, VALUES)
def test_superiority_is_mann_whitneys_u(a: list[float], b: list[float]) -> None:
    u = stats.mannwhitneyu(b, a, method="asymptotic").statistic
    assert superiority(a, b) == pytest.approx(u / (len(a) * len(b)), abs=1e-12)
    assert superiority(a, b) + superiority(b, a) == pytest.approx(1)


def test_total_work_is_not_the_mean_of_rates() -> None:
    assert total_work_rate([100, 100], [1, 3]) == 50
    assert summarise([100, 100 / 3], times_s=[1, 3]).pooled == 50
    assert summarise([100, 100 / 3]).pooled is None
    assert quantile_is_supported(1000, 0.99)
    assert not quantile_is_supported(999, 0.99)
    with pytest.raises(ValueError, match="one length"):
        total_work_rate([1], [])
