"""Lists of levels: series continue by factor or difference and end exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.plan.one_off_study import read_levels
from mileage.plan.sizes import parse_bytes


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("7", (7,)),
        ("1,2,4..64", (1, 2, 4, 8, 16, 32, 64)),
        ("1..8", (1, 2, 4, 8)),
        ("1,2..8", (1, 2, 4, 8)),
        ("10,20..100", (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)),
        ("1,3..27,100", (1, 3, 9, 27, 100)),
        ("100,90..50", (100, 90, 80, 70, 60, 50)),
        ("0,10..30", (0, 10, 20, 30)),
        ("5,1", (5, 1)),
    ],
)
def test_series_of_numbers(text: str, levels: tuple[int, ...]) -> None:
    assert read_levels(text, int) == levels


def test_series_of_sizes() -> None:
    assert read_levels("4KiB..32KiB", parse_bytes) == (4096, 8192, 16384, 32768)


def test_words_are_left_as_they_are() -> None:
    assert read_levels("pread, uring", None) == ("pread", "uring")
    assert read_levels("zeros;compressible=50,duplicate=20", None) == (
        "zeros",
        "compressible=50,duplicate=20",
    )


@pytest.mark.parametrize(
    "text", ["", "1,,2", "1,3..8", "3..10", "..4", "4..", "4,4..8", "8,4..3", "1,2..100000"]
)
def test_what_does_not_end_exactly_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a list|not a series|neither a factor|invalid literal"):
        read_levels(text, int)


@given(st.integers(1, 50), st.integers(2, 5), st.integers(2, 6))
def test_every_geometric_series_is_found_from_its_first_two(first: int, factor: int, count: int) -> None:
    series = tuple(first * factor**power for power in range(count + 1))
    assert read_levels(f"{series[0]},{series[1]}..{series[-1]}", int) == series


@given(st.integers(1, 50), st.integers(1, 50), st.integers(2, 20))
def test_a_series_ends_at_its_last_value(first: int, step: int, count: int) -> None:
    last = first + step * count
    found = read_levels(f"{first},{first + step}..{last}", int)
    assert found[:2] == (first, first + step)
    assert found[-1] == last
    assert len(set(found)) == len(found)
