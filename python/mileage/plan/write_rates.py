"""Rates of writing over long times, as people state them: "75 TB/year", "200 GB/day", "1 drive write/day", "0.5 DWPD".

Scope: bytes, or capacities of the drive, in a second, minute, hour, day, week, month or year. A year is 365
days, as makers of drives count; a month is a twelfth of it. Sizes are those of `plan.sizes`: TB is 10^12 bytes.
What it refuses: what is no rate, with what is expected. Functions raise ValueError.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

import msgspec

from mileage.plan.sizes import parse_bytes

DAYS_PER_YEAR: Final = 365
S_PER_DAY: Final = 86_400
S_PER_YEAR: Final = DAYS_PER_YEAR * S_PER_DAY

_PERIODS_S: Final = {
    "s": 1,
    "second": 1,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "day": S_PER_DAY,
    "week": 7 * S_PER_DAY,
    "month": S_PER_YEAR // 12,
    "year": S_PER_YEAR,
}
_DRIVE_WRITES: Final = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*(?:drive\s+writes?|x)")
_PER_DAY: Final = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*DWPD", re.IGNORECASE)
_WANTED: Final = (
    'expected bytes or drive writes in a time, such as "200 GB/day", "75 TB/year" or "1 drive write/day"; '
    f"times: {', '.join(word for word in _PERIODS_S if word not in ('second', 'minute', 'hour'))}"
)


class WriteRate(msgspec.Struct, frozen=True):
    """Bytes, or capacities of a drive, in a second; exactly one of them."""

    bytes_per_s: Fraction | None = None
    drive_writes_per_s: Fraction | None = None

    def of(self, capacity_bytes: int) -> Fraction:
        """Bytes per second on a drive of a capacity."""
        if self.bytes_per_s is not None:
            return self.bytes_per_s
        assert self.drive_writes_per_s is not None
        return self.drive_writes_per_s * capacity_bytes

    @property
    def needs_capacity(self) -> bool:
        """Whether it is stated in drive writes."""
        return self.bytes_per_s is None


def parse_write_rate(text: str) -> WriteRate:
    """The rate that a text names, above 0. Raises ValueError."""
    stated = " ".join(text.split())
    if match := _PER_DAY.fullmatch(stated):
        return _above_0(text, WriteRate(drive_writes_per_s=Fraction(match[1]) / S_PER_DAY))
    amount, slash, period = (part.strip() for part in stated.partition("/"))
    if not slash and (match := re.fullmatch(r"(.*\S)\s+(?:per|a)\s+(\S+)", stated)):
        amount, period = match[1], match[2]
    time_s = _PERIODS_S.get(period)
    if time_s is None:
        raise ValueError(f"{text!r} is not a rate of writing: {_WANTED}")
    if match := _DRIVE_WRITES.fullmatch(amount):
        return _above_0(text, WriteRate(drive_writes_per_s=Fraction(match[1]) / time_s))
    if amount.isdecimal():
        raise ValueError(f"{text!r} is not a rate of writing: {_WANTED}")
    try:
        size = parse_bytes(amount)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a rate of writing: {error}") from None
    return _above_0(text, WriteRate(bytes_per_s=Fraction(size, time_s)))


def _above_0(text: str, rate: WriteRate) -> WriteRate:
    if not (rate.bytes_per_s or rate.drive_writes_per_s):
        raise ValueError(f"{text!r} is nothing: expected more than 0")
    return rate
