"""Numbers and sizes of other tools' files, as ours.

Scope: a number is finite and not negative, or it is not there: tools print NaN, infinity and -1 where they do
not know. Sizes are words of a tool; which power their letters mean is the tool's.
What is no number is None.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

WHOLE_MAX: Final = (1 << 63) - 1
"""The largest whole number that the tables hold."""
_SIZE: Final = re.compile(
    r"\s*([0-9]{1,18}(?:\.[0-9]{1,9})?)\s*([kmgtpe]?)(i?)(b(?:ytes?)?)?\s*", re.IGNORECASE
)
_POWER: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}


def number(value: Any) -> float | None:
    """A finite number that is not negative, from a number or its text; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    # Python reads 1_000 and the digits of all scripts, which no tool writes.
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and found >= 0 else None


def whole(value: Any) -> int | None:
    """A whole number, 0 to 2^63-1, from a number or its text; None for all else."""
    if isinstance(value, str):
        text = value.strip()
        if not re.fullmatch(r"[0-9]{1,19}", text):
            return None
        value = int(text)
    if isinstance(value, float) and value.is_integer():
        value = int(value) if abs(value) < 2**63 else -1
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= WHOLE_MAX else None


def rounded(value: float | None) -> int | None:
    """The nearest whole number; None for None and beyond 2^63-1."""
    return None if value is None or value >= 2**63 else round(value)


def binary_size(text: str) -> int | None:
    """Bytes of "4k", "1m", "16 MiB", where every letter means a power of 1024; None for what is no size."""
    return _sized(text, 1024, 1024)


def fio_size(text: str, kb_base: int = 1024) -> int | None:
    """Bytes of a size of a fio job: with `kb_base` 1024 "4k" is 4096 and "4ki" 4000, with 1000 the other way round."""
    return _sized(text, kb_base, 1000 if kb_base == 1024 else 1024)


def _sized(text: str, plain: int, with_i: int) -> int | None:
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    base = with_i if found[3] else plain
    size = float(found[1]) * base ** _POWER[found[2].lower()]
    if found[1].isdecimal():
        size = int(found[1]) * base ** _POWER[found[2].lower()]
    return int(size) if size <= WHOLE_MAX else None


# Units of rates and times that a person writes, and which figure of a run each of them is.
# Scope: exact spellings. kB, MB, GB are powers of 1000, KiB, MiB, GiB powers of 1024, as in SI and IEC 80000-13.
# What it refuses: spellings that tools use for both powers, such as KB/s.

RATES: Final = {
    "B/s": 1.0,
    "kB/s": 1e3,
    "KiB/s": 1024.0,
    "MB/s": 1e6,
    "MiB/s": 1024.0**2,
    "GB/s": 1e9,
    "GiB/s": 1024.0**3,
}
"""Units of throughput, with the bytes per second of one."""
OPERATIONS: Final = {"IOPS": 1.0, "operations/s": 1.0, "kIOPS": 1e3}
"""Units of operations per second, with the operations per second of one."""
TIMES_NS: Final = {"s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1.0}
"""Units of time, with the nanoseconds of one."""
TIMES_S: Final = {unit: time_ns / 1e9 for unit, time_ns in TIMES_NS.items()}
"""Units of time, with the seconds of one."""
_AMBIGUOUS: Final = re.compile(r"([kmg])i?b(?:ytes?)?(?:/s(?:ec)?|ps)?|[kmg]", re.IGNORECASE)
_LETTERS: Final = {"k": ("kB/s", "KiB/s"), "m": ("MB/s", "MiB/s"), "g": ("GB/s", "GiB/s")}


def choice_of(unit: str) -> str:
    """The choice between two units for a spelling of both, such as KB/s or MBps; empty for any other text."""
    if not _AMBIGUOUS.fullmatch(unit):
        return ""
    decimal, binary = _LETTERS[unit[0].lower()]
    power = {"k": 1, "m": 2, "g": 3}[unit[0].lower()]
    return f"{decimal} ({1000**power:,} bytes) or {binary} ({1024**power:,} bytes)"
