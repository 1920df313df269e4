"""A number of another tool is finite and not negative, or it is none."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.formats.number_parser import WHOLE_MAX, binary_size, number, rounded, whole


@pytest.mark.parametrize(
    "value",
    [
        -1,
        -0.5,
        "-3",
        "-1e9",
        "-inf",
        math.nan,
        math.inf,
        "nan",
        True,
        None,
        [],
        "",
        "1_000",
        "١٢",
        "1,5",
        "0x10",
    ],
)
def test_what_is_no_figure(value: object) -> None:
    assert number(value) is None
    assert whole(value) is None


@given(st.floats() | st.integers() | st.text(max_size=12))
def test_a_number_is_finite_and_not_negative(value: object) -> None:
    found = number(value)
    assert found is None or (math.isfinite(found) and found >= 0)
    count = whole(value)
    assert count is None or 0 <= count <= WHOLE_MAX


@given(st.floats(min_value=0, max_value=1e300) | st.integers(min_value=0, max_value=1 << 60))
def test_all_others_are_taken_as_they_are(value: float) -> None:
    assert number(value) == float(value)
    assert number(repr(value)) == float(value)


def test_sizes_are_not_negative() -> None:
    assert binary_size("-4k") is None
    assert binary_size("4k") == 4096
    assert rounded(None) is None
