"""Endurance converted: round trips, units, and the examples of the talk that the conversions come from."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.endurance.conversions import (
    TB,
    bytes_of_cycles,
    bytes_of_dwpd,
    cycles_of_bytes,
    dwpd_of_bytes,
    years_of_bytes,
)

AMOUNT = st.floats(1e-3, 1e5)
SIZE = st.floats(1e9, 1e15)
YEARS = st.floats(0.1, 30)


def test_the_examples_of_makers() -> None:
    assert bytes_of_dwpd(3, 400e9, 5) == 2190 * TB
    assert dwpd_of_bytes(5000 * TB, 1e12, 5) == pytest.approx(2.7397, abs=1e-4)
    assert dwpd_of_bytes(182.5 * TB, 16e9, 5) == 6.25
    assert years_of_bytes(400 * TB, 75 * TB) == pytest.approx(16 / 3)
    assert bytes_of_cycles(100_000, 64e9, 2) == 3200 * TB


@given(AMOUNT, SIZE, YEARS)
def test_dwpd_come_back(dwpd: float, capacity: float, years: float) -> None:
    there = bytes_of_dwpd(dwpd, capacity, years)
    assert math.isclose(dwpd_of_bytes(there, capacity, years), dwpd, rel_tol=1e-12)


@given(AMOUNT, SIZE, st.floats(0.05, 50))
def test_cycles_come_back(cycles: float, raw: float, amplification: float) -> None:
    there = bytes_of_cycles(cycles, raw, amplification)
    assert math.isclose(cycles_of_bytes(there, raw, amplification), cycles, rel_tol=1e-12)


@given(AMOUNT, SIZE, YEARS)
def test_a_drive_written_at_its_dwpd_lasts_its_years(dwpd: float, capacity: float, years: float) -> None:
    rated = bytes_of_dwpd(dwpd, capacity, years)
    assert math.isclose(years_of_bytes(rated, dwpd * capacity * 365), years, rel_tol=1e-12)


@given(AMOUNT, SIZE, YEARS, st.floats(1.01, 100))
def test_endurance_grows_with_each_of_its_factors(
    value: float, size: float, years: float, more: float
) -> None:
    assert bytes_of_dwpd(value * more, size, years) > bytes_of_dwpd(value, size, years)
    assert bytes_of_dwpd(value, size * more, years) > bytes_of_dwpd(value, size, years)
    assert bytes_of_dwpd(value, size, years * more) > bytes_of_dwpd(value, size, years)
    assert bytes_of_cycles(value, size, more) < bytes_of_cycles(value, size, 1)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan])
def test_values_that_are_not_above_0_are_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="dwpd: found"):
        bytes_of_dwpd(wrong, 1, 1)
    with pytest.raises(ValueError, match="write_amplification: found"):
        bytes_of_cycles(1, 1, wrong)
