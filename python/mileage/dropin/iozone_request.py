"""A command line of IOzone as a value: its tests, sizes, children and files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mileage.errors import Refused

_KB: Final = 1024
CHILDREN_MAX: Final = 1024
_RECORD: Final = 4 * _KB
"""The record of -r without a number."""


@dataclass(frozen=True)
class IozoneRequest:
    """Request parsed from a command line of IOzone; sizes in bytes."""

    tests: tuple[str, ...]
    """Names such as "random_read"."""
    sizes: tuple[tuple[int, int], ...]
    """File and record of each row."""
    records_kb: tuple[int, ...]
    """The columns of the reports."""
    children: tuple[int, ...]
    """Numbers of children; none for a single stream."""
    place: Path
    name: str
    files: tuple[str, ...]


def size_of(flag: str, text: str) -> int:
    """Convert a size as IOzone takes it to bytes: a number alone counts KiB; suffixes k, m, g are KiB, MiB, GiB.

    `flag` is named in the error. A record without a number is 4 kB, as IOzone has it. Raises Refused.
    """
    if flag == "-r" and not text[:1].isdecimal():
        return _RECORD
    factors = {"k": _KB, "m": _KB**2, "g": _KB**3}
    digits, factor = (text[:-1], factors[text[-1].lower()]) if text[-1:].lower() in factors else (text, _KB)
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 16 and int(digits) > 0):
        raise Refused(
            f"iozone: {flag} {text}",
            expected="kB as a whole number, or one with k, m or g, such as 64k",
            code="wrong-value",
        )
    return int(digits) * factor
