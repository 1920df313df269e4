"""Numbers for people: three significant digits, a unit, and no exponent.

Rates are shown in MiB/s (2^20) and MB/s (10^6), times in the unit that leaves one to three digits before the point.
What cannot be known is "-".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mileage.plan.sizes import counted

MIB: Final = 1 << 20
MB: Final = 10**6
_TIMES: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))


def figure(number: float) -> str:
    """Three significant digits or more: "0.0123", "1.23", "12.3", "123", "1,234", "12.3M"."""
    if number >= 10_000_000:
        return f"{number / 1e6:,.1f}M"
    if number >= 100:
        return f"{number:,.0f}"
    if number >= 10:
        return f"{number:.1f}"
    if number >= 1 or number == 0:
        return f"{number:.2f}"
    return f"{number:.3g}"


def duration(time_ns: float | None) -> str:
    """Format a time given in ns: "98.3 µs", "1.20 ms", "12 s"; "-" for None."""
    if time_ns is None:
        return "-"
    scale, unit = next(((scale, unit) for scale, unit in _TIMES if time_ns >= scale), (1, "ns"))
    amount = time_ns / scale
    if unit == "ns":
        return f"{amount:.0f} ns"
    return f"{amount:.0f} {unit}" if amount >= 100 else f"{amount:.3g} {unit}"


def mib_per_s(rate_bytes_per_s: float) -> str:
    """A rate in MiB/s, without the unit."""
    return figure(rate_bytes_per_s / MIB)


def mb_per_s(rate_bytes_per_s: float) -> str:
    """A rate in MB/s, without the unit."""
    return figure(rate_bytes_per_s / MB)


def column_width(least: int, texts: Iterable[str]) -> int:
    """Characters of a column of figures that stand at its right end: `least`, or one more than the longest figure."""
    return max([least, *(len(text) + 1 for text in texts)])


def lost_of(lost: int, of: int | None) -> str:
    """Writes that a power cut lost: "none of 600 synced writes", or "12 writes" where nobody knows of how many."""
    number = f"{lost:,}" if lost else "none"
    return f"{number} of {counted(of, 'synced write')}" if of is not None else counted(lost, "write")
