"""hdparm's own lines for -T and -t. A MB is 2^20 bytes, as in hdparm, and a kB 1024."""

from __future__ import annotations

_MIB = 1 << 20
_TITLES = {
    ("cached", False): "cached reads:  ",
    ("cached", True): "O_DIRECT cached reads:  ",
    ("buffered", False): "buffered disk reads:",
    ("buffered", True): "O_DIRECT disk reads:",
}


def timing_line(what: str, direct: bool, bytes_read: int, seconds: float) -> str:
    """One line: `what` is "cached" or "buffered"."""
    rate = bytes_read / _MIB / seconds if seconds > 0 else 0.0
    unit = "MB"
    if 0 < rate <= 1.0:
        rate, unit = rate * 1024, "kB"
    moved = bytes_read // _MIB
    return (
        f" Timing {_TITLES[what, direct]} {moved:3d} MB in {seconds:5.2f} seconds = {rate:6.2f} {unit}/sec\n"
    )
