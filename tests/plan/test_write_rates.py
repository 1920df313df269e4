"""Rates of writing: what is read, what is refused, and that all units agree."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.plan.load_model import read_cap
from mileage.plan.write_rates import parse_write_rate

TB, GB, DAY = 10**12, 10**9, 86_400
PERIODS = {"s": 1, "min": 60, "h": 3600, "day": DAY, "week": 7 * DAY, "year": 365 * DAY}


@pytest.mark.parametrize(
    ("text", "bytes_per_day"),
    [
        ("200 GB/day", 200 * GB),
        ("200GB / day", 200 * GB),
        ("200 GB per day", 200 * GB),
        ("200 GB a day", 200 * GB),
        ("73 TB/year", 200 * GB),
        ("1 drive write/day", 512 * GB),
        ("1 drive write per day", 512 * GB),
        ("7 drive writes/week", 512 * GB),
        ("365 drive writes/year", 512 * GB),
        ("0.5 drive writes/day", 256 * GB),
        ("1x/day", 512 * GB),
        ("3 DWPD", 3 * 512 * GB),
        ("0.3dwpd", Fraction(3, 10) * 512 * GB),
        ("1 MiB/s", 86_400 << 20),
        ("6 GB/month", Fraction(6 * GB * 12, 365)),
    ],
)
def test_a_rate_is_read(text: str, bytes_per_day: Fraction | int) -> None:
    assert parse_write_rate(text).of(512 * GB) * DAY == bytes_per_day


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "5 MB",
        "MB/s",
        "5 MB/fortnight",
        "5M/s",
        "-1 GB/day",
        "0 GB/day",
        "0 DWPD",
        "drive write/day",
        "1/day",
    ],
)
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_write_rate(text)


@given(
    st.integers(1, 10**6), st.sampled_from(sorted(PERIODS)), st.sampled_from(["MB", "GB", "TB", "MiB", "GiB"])
)
def test_a_rate_in_any_unit_is_the_quotient_of_its_parts(amount: int, period: str, unit: str) -> None:
    scale = {"MB": 10**6, "GB": GB, "TB": TB, "MiB": 2**20, "GiB": 2**30}[unit]
    assert parse_write_rate(f"{amount} {unit}/{period}").of(1) == Fraction(amount * scale, PERIODS[period])


@given(st.integers(1, 10**4), st.sampled_from(sorted(PERIODS)), st.integers(1, 10**14))
def test_drive_writes_are_multiples_of_the_capacity(amount: int, period: str, capacity: int) -> None:
    rate = parse_write_rate(f"{amount} drive writes/{period}")
    assert rate.needs_capacity
    assert rate.of(capacity) == Fraction(amount * capacity, PERIODS[period])


def test_a_cap_may_be_in_drive_writes() -> None:
    assert read_cap("1 drive write/day", 86_400 * 10**6).bytes_per_s == 10**6
    assert read_cap("7 drive writes/week", 86_400 * 10**6).bytes_per_s == 10**6
    assert read_cap("1 drive write/year", 1).bytes_per_s == 1  # Rounded up: 0 would be no limit.
    assert read_cap("100MiB/s", 5).bytes_per_s == 100 << 20
    assert read_cap("36 GB/h", 5).bytes_per_s == 10**7
    assert read_cap(5000, 5).operations_per_s == 5000
    for wrong in ("0", "5 MB", "1 drive/day"):
        with pytest.raises(ValueError, match="operations per second such as 5000"):
            read_cap(wrong, 5)
