"""Units of rates and times that a person writes, and which figure of a run each of them is.

Scope: exact spellings. kB, MB, GB are powers of 1000, KiB, MiB, GiB powers of 1024, as in SI and IEC 80000-13.
What it refuses: spellings that tools use for both powers, such as KB/s.
"""

from __future__ import annotations

import re
from typing import Final

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
