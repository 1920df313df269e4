"""Endurance in the units that makers, administrators and cells use, converted.

Scope: bytes that the host may write in the life of a drive (TBW, in 10^12 bytes), drive writes per day
(DWPD) over years of 365 days, program/erase cycles of all flash, and years at a rate.

    TBW = DWPD x capacity x 365 x years          as makers count (D. Traynor, QMUL talk of 2017)
    TBW = cycles x flash / write amplification   every byte that the host writes programs WA bytes

What it refuses: values that are not above 0, by ValueError.
"""

from __future__ import annotations

from typing import Final

from mileage.plan.write_rates import DAYS_PER_YEAR

TB: Final = 10**12
CYCLES_OF_CLASS: Final = {"slc": 100_000, "mlc": 10_000, "tlc": 5_000, "qlc": 1_000}
"""Program/erase cycles by kind of cell, for drives whose maker states none: the talk's table of technologies; four-bit
cells are not in it, and 1,000 are usual (PC Format, Crucial P1 review, 2019)."""


def bytes_of_dwpd(dwpd: float, capacity_bytes: float, years: float) -> float:
    """Bytes written in some years at a number of drive writes per day."""
    _above_0(dwpd=dwpd, capacity_bytes=capacity_bytes, years=years)
    return dwpd * capacity_bytes * DAYS_PER_YEAR * years


def dwpd_of_bytes(written_bytes: float, capacity_bytes: float, years: float) -> float:
    """Drive writes per day (DWPD) that correspond to writing `written_bytes` in `years`."""
    _above_0(written_bytes=written_bytes, capacity_bytes=capacity_bytes, years=years)
    return written_bytes / (capacity_bytes * DAYS_PER_YEAR * years)


def bytes_of_cycles(cycles: float, raw_bytes: float, write_amplification: float) -> float:
    """Bytes that the host can write until all flash has had its cycles, evenly."""
    _above_0(cycles=cycles, raw_bytes=raw_bytes, write_amplification=write_amplification)
    return cycles * raw_bytes / write_amplification


def cycles_of_bytes(written_bytes: float, raw_bytes: float, write_amplification: float) -> float:
    """Cycles of all flash, evenly, when the host has written a number of bytes."""
    _above_0(written_bytes=written_bytes, raw_bytes=raw_bytes, write_amplification=write_amplification)
    return written_bytes * write_amplification / raw_bytes


def years_of_bytes(rated_bytes: float, bytes_per_year: float) -> float:
    """Years until a number of bytes is written at a rate."""
    _above_0(rated_bytes=rated_bytes, bytes_per_year=bytes_per_year)
    return rated_bytes / bytes_per_year


def _above_0(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name}: found {value}, expected a number above 0")
