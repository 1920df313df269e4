"""The spread of a few repetitions: median, and Student's interval on the logarithms."""

from __future__ import annotations

import math

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from mileage.judge import spread


def test_one_value_has_no_interval() -> None:
    found = spread([7.0])
    assert (found.n, found.median, found.low, found.high) == (1, 7.0, None, None)


def test_equal_values_are_their_own_interval() -> None:
    found = spread([5.0, 5.0, 5.0])
    assert found.median == 5.0
    assert found.low == pytest.approx(5.0)
    assert found.high == pytest.approx(5.0)


@given(st.lists(st.floats(0.1, 1e9), min_size=2, max_size=12))
def test_the_interval_is_the_one_of_scipy(values: list[float]) -> None:
    found = spread(values)
    assert found.low is not None
    assert found.high is not None
    logs = [math.log(value) for value in values]
    if len(set(logs)) > 1:
        low, high = scipy.stats.t.interval(
            0.95, len(logs) - 1, loc=sum(logs) / len(logs), scale=scipy.stats.sem(logs)
        )
        assert found.low == pytest.approx(math.exp(max(low, -700.0)), rel=1e-6)
        assert found.high == pytest.approx(math.exp(min(high, 700.0)), rel=1e-6)
    assert found.low <= found.high


@pytest.mark.parametrize("values", [[], [0.0], [1.0, -1.0]])
def test_what_has_no_logarithm_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        spread(values)
