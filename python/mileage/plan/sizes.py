"""Texts that name a size, a multiple or a time, and the exact whole numbers they mean.

Scope: sizes in bytes ("4KiB", "64GB", 4096), shares ("25%") and multiples ("2.2x") of a work area,
multiples of the memory ("2x memory"), times ("10 s") and scales ("1/16").
What it refuses: fractions of a byte or of a nanosecond, and bare letters ("4K"), about which tools disagree.

Functions raise ValueError; the message says what was found and what is expected, and the caller adds where.
The rules for sizes are those of the Rust crate `mileage-units`; a test holds the two together.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

BYTES_MAX: Final = 2**64 - 1

_UNITS: Final = {
    "TiB": 2**40,
    "GiB": 2**30,
    "MiB": 2**20,
    "KiB": 2**10,
    "TB": 10**12,
    "GB": 10**9,
    "MB": 10**6,
    "kB": 10**3,
    "KB": 10**3,
    "B": 1,
    "": 1,
}
_LETTERS: Final = tuple("kKmMgGtT")
"""Units that tools disagree about."""
_TIMES_NS: Final = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_TIME_NS_MAX: Final = (2**64 - 1) // 2
SCALE_MAX: Final = 4096
_SCALE: Final = re.compile(r"1\s*/\s*([1-9][0-9]{0,3})|1")
_NUMBER: Final = re.compile(r"0*([0-9]{1,20}(?:\.[0-9]{1,9})?)(.*)", re.DOTALL)
_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""White space as Unicode has it; Python's own notion has four control characters more."""


_A_SIZE: Final = (
    "expected a whole number of bytes, or a number with B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, "
    "TiB (powers of 1024); for example 4KiB"
)
_A_TIME: Final = 'expected a number with ns, us, ms, s, min or h; for example "10 s"'


def parse_bytes(text: str) -> int:
    """Bytes named by a text such as "4096", "4KiB", "1.5 GiB" or "64GB", 0..2^64-1. Raises ValueError."""
    number, unit = _split(text)
    scale = _UNITS.get(unit)
    if number is not None and unit in _LETTERS:
        digits, letter = text.strip()[:-1].strip(), unit.upper()
        decimal = "kB" if letter == "K" else f"{letter}B"
        choice = f"expected {digits}{letter}iB (powers of 1024) or {digits}{decimal} (powers of 1000)"
        raise ValueError(f"{text!r} is not a size: {choice}")
    if number is None or scale is None:
        raise ValueError(f"{text!r} is not a size: {_A_SIZE}")
    size = number * scale
    if size.denominator != 1 or size > BYTES_MAX:
        raise ValueError(f"{text!r} is not a size: {_A_SIZE}")
    return int(size)


def size_bytes(value: int | str) -> int:
    """Bytes of a size given as a whole number or as a text. Raises ValueError."""
    if isinstance(value, str):
        return parse_bytes(value)
    if not 0 <= value <= BYTES_MAX:
        raise ValueError(f"{value} is not a size: {_A_SIZE}")
    return value


def area_bytes(value: int | str, *, work_bytes: int, multiple_bytes: int) -> int:
    """Bytes of a part of the work area: a size, a share ("25%"), a multiple ("2.2x") or "file" (all of it).

    "48GiB or 83%" is whichever is less.

    Shares and multiples are rounded down to a multiple of `multiple_bytes`, never below one of it; a plain
    size is returned as it is, whether it divides or not. Raises ValueError.
    """
    if isinstance(value, str) and " or " in value:
        parts = (
            area_bytes(p, work_bytes=work_bytes, multiple_bytes=multiple_bytes) for p in value.split(" or ")
        )
        least = min(parts)
        return max(least - least % multiple_bytes, multiple_bytes)
    if value == "file":
        value = "100%"
    share = _share(value)
    if share is None:
        try:
            return size_bytes(value)
        except ValueError as error:
            raise ValueError(f'{error}, "25%" of the work area, or "2.2x" the work area') from None
    if share == 0:
        raise ValueError(f"{value!r} is nothing: expected more than 0")
    wanted = int(share * work_bytes)
    return max(wanted - wanted % multiple_bytes, multiple_bytes)


def file_bytes(value: int | str, *, memory_bytes: int, limit_bytes: int = 0) -> int:
    """Bytes of a work file: a size, or a multiple of the memory or of a limit of it ("2x memory", "4x limit").

    `limit_bytes` is 0 where the study limits no memory. Raises ValueError.
    """
    for word, of_bytes in (("memory", memory_bytes), ("limit", limit_bytes)):
        if not (isinstance(value, str) and value.rstrip().endswith(word)):
            continue
        share = _share(value.rstrip().removesuffix(word).rstrip())
        if share is None:
            raise ValueError(
                f'{value!r} is not a size: expected for example "2x {word}", or a size such as "8GiB"'
            )
        if of_bytes == 0:
            known = "the memory of this target is not known" if word == "memory" else "no cache is limited"
            raise ValueError(f'{value!r}: {known}; give a size such as "8GiB"')
        return int(share * of_bytes)
    try:
        return size_bytes(value)
    except ValueError as error:
        raise ValueError(f'{error}, or "2x memory"') from None


def is_share(value: int | str) -> bool:
    """True when a size is relative to the work area: "50 %", "2x capacity", or the lesser of two such sizes."""
    return isinstance(value, str) and any(
        part == "file" or _share(part) is not None for part in value.split(" or ")
    )


def is_multiple(value: int | str) -> bool:
    """Whether a size of a work file is given as a multiple of the memory or of a limit."""
    return isinstance(value, str) and value.rstrip().endswith(("memory", "limit"))


def scale_divisor(text: str) -> int:
    """N of a scale "1/N", 1 to 4096. Raises ValueError."""
    found = _SCALE.fullmatch(text.strip())
    divisor = int(found.group(1) or 1) if found else 0
    if not 1 <= divisor <= SCALE_MAX:
        raise ValueError(f"{text!r} is not a scale: expected 1/N with N from 1 to {SCALE_MAX}, such as 1/16")
    return divisor


def parse_time_ns(text: str) -> int:
    """Nanoseconds named by a text such as "10 s", above 0 and below 292 years. Raises ValueError."""
    number, unit = _split(text)
    scale = _TIMES_NS.get(unit)
    if number is None or scale is None:
        raise ValueError(f"{text!r} is not a time: {_A_TIME}")
    time_ns = number * scale
    if time_ns.denominator != 1 or not 0 < time_ns <= _TIME_NS_MAX:
        raise ValueError(f"{text!r} is not a time: {_A_TIME}")
    return int(time_ns)


def format_bytes(size: int) -> str:
    """Bytes in words: an exact binary unit where there is one, else three significant digits ("59.6 GiB")."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        scale = _UNITS[unit]
        if size >= scale:
            if size % scale == 0:
                return f"{size // scale} {unit}"
            amount = size / scale
            return f"{amount:.{0 if amount >= 100 else 1 if amount >= 10 else 2}f} {unit}"
    return f"{size} B"


def record_words(size: int) -> str:
    """A record in a label: in words that no other size has, "4 KiB", "1.50 KiB", "2300 B"."""
    words = format_bytes(size)
    amount, unit = words.split(" ")
    return words if unit == "B" or float(amount) * _UNITS[unit] == size else f"{size} B"


def counted(number: int, noun: str) -> str:
    """A number and what it counts: "1 run", "1,200 runs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def exact_bytes(size: int) -> str:
    """Bytes as a text that `parse_bytes` reads back: "256MiB", or "1000 B" where no binary unit is exact."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if size >= _UNITS[unit] and size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}"
    return f"{size} B"


def exact_time(time_ns: int) -> str:
    """Nanoseconds as a text that `parse_time_ns` reads back: "20 s", "500 ms"."""
    unit = next(unit for unit in ("s", "ms", "us", "ns") if time_ns % _TIMES_NS[unit] == 0)
    return f"{time_ns // _TIMES_NS[unit]} {unit}"


def _share(value: int | str) -> Fraction | None:
    """The fraction that "25%" or "2.2x" names, above 0; None for anything else."""
    if not isinstance(value, str):
        return None
    number, unit = _split(value)
    if number is None:
        return None
    return {"%": number / 100, "x": number}.get(unit)


def _split(text: str) -> tuple[Fraction | None, str]:
    """The number at the start of a text (None if there is none) and the unit after it."""
    match = _NUMBER.fullmatch(text.strip(_SPACE))
    return (Fraction(match[1]), match[2].strip(_SPACE)) if match else (None, "")


def duration(time_s: float) -> str:
    """A time in words: "12 s", "4 min", "3.5 h". `time_s` is in seconds, not negative."""
    if time_s < 99.5:
        return f"{max(time_s, 1):.0f} s"
    if time_s < 99.5 * 60:
        return f"{time_s / 60:.0f} min"
    return f"{time_s / 3600:.1f} h"


def whole_number(text: str) -> int | None:
    """The number that a text of 1 to 18 ASCII digits is; None for all else, such as "²", which `isdigit` accepts."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None
