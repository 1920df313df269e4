"""The lines of dd and hdparm, byte by byte as they print them.

dd prints three lines: records in, records out, and what was copied in which time. hdparm prints a line each for -T and
-t, where a MB is 2^20 bytes and a kB 1024.
"""

from __future__ import annotations

from typing import Final

_SI: Final = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_IEC: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_MIB: Final = 1 << 20
_TITLES: Final = {
    ("cached", False): "cached reads:  ",
    ("cached", True): "O_DIRECT cached reads:  ",
    ("buffered", False): "buffered disk reads:",
    ("buffered", True): "O_DIRECT disk reads:",
}


def amount(value: float, base: int) -> str:
    """A number of bytes with its unit, with one digit after the point below ten; `base` is 1000 or 1024."""
    units = _SI if base == 1000 else _IEC
    power = 0
    while value >= base and power < len(units) - 1:
        value, power = value / base, power + 1
    if power and round(value, 1) < 10:
        return f"{value:.1f} {units[power]}"
    if round(value) >= base and power < len(units) - 1:
        return f"1.0 {units[power + 1]}"
    return f"{value:.0f} {units[power]}"


def summary(bytes_moved: int, block: int, seconds: float) -> str:
    """The summary that dd prints: records in, records out, and bytes with duration and rate; three lines."""
    whole, part = divmod(bytes_moved, block)
    records = f"{whole}+{1 if part else 0}"
    shown = f"{bytes_moved} bytes"
    if bytes_moved >= 1024:
        shown += f" ({amount(bytes_moved, 1000)}, {amount(bytes_moved, 1024)})"
    elif bytes_moved >= 1000:
        shown += f" ({amount(bytes_moved, 1000)})"
    rate = amount(bytes_moved / seconds, 1000) + "/s" if seconds > 0 else "Infinity B/s"
    return f"{records} records in\n{records} records out\n{shown} copied, {seconds:g} s, {rate}\n"


def timing_label(what: str, direct: bool) -> str:
    """What hdparm prints before it measures: the first words of its line."""
    return f" Timing {_TITLES[what, direct]} "


def timing_line(what: str, direct: bool, bytes_read: int, seconds: float) -> str:
    """The line of hdparm: `what` is "cached" or "buffered"."""
    rate = bytes_read / _MIB / seconds if seconds > 0 else 0.0
    unit = "MB"
    if 0 < rate <= 1.0:
        rate, unit = rate * 1024, "kB"
    moved = bytes_read // _MIB
    label = timing_label(what, direct)
    return f"{label}{moved:3d} MB in {seconds:5.2f} seconds = {rate:6.2f} {unit}/sec\n"
