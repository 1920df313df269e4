"""dd's own three lines: records in, records out, and what was copied in which time."""

from __future__ import annotations

from typing import Final

_SI: Final = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_IEC: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


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
    """The three lines, ending in a newline."""
    whole, part = divmod(bytes_moved, block)
    records = f"{whole}+{1 if part else 0}"
    shown = f"{bytes_moved} bytes"
    if bytes_moved >= 1024:
        shown += f" ({amount(bytes_moved, 1000)}, {amount(bytes_moved, 1024)})"
    elif bytes_moved >= 1000:
        shown += f" ({amount(bytes_moved, 1000)})"
    rate = amount(bytes_moved / seconds, 1000) + "/s" if seconds > 0 else "Infinity B/s"
    return f"{records} records in\n{records} records out\n{shown} copied, {seconds:g} s, {rate}\n"
