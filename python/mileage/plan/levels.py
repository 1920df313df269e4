"""Lists of levels as people write them: "1,2,4..64", "4KiB..1MiB", "pread,uring".

Scope: values separated by commas (or by semicolons, where a value has commas itself), and a series that two
dots continue to a last value: by the factor of the values before it, or by their difference, whichever ends at the last
value exactly; with one value before it, by doubling.
What it refuses: a series that does not end at its last value, and one of more than 1000 levels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

LEVELS_MAX: Final = 1000


def read_levels(text: str, read: Callable[[str], int] | None) -> tuple[int | str, ...]:
    """The levels that a text lists. `read` turns one into a whole number; None when they are words.

    Raises ValueError; the message says what was found and what is expected.
    """
    parts = [part.strip() for part in text.split(";" if ";" in text else ",")]
    if not all(parts):
        raise ValueError(f"{text!r} is not a list; expected for example 1,2,4..64")
    if read is None:
        return tuple(parts)
    levels: list[int] = []
    for part in parts:
        first, dots, last = part.partition("..")
        if not dots:
            levels.append(read(part))
            continue
        if not first or not last:
            raise ValueError(f"{part!r} is not a series; expected for example 4..64")
        levels.append(read(first))
        levels += _continued(levels, read(last), text)
    return tuple(levels)


def _continued(before: list[int], last: int, text: str) -> list[int]:
    """The values that continue a list written with two dots, up to and including the last one."""
    previous = before[-2] if len(before) > 1 else None
    current = before[-1]
    if previous is None:
        found = _by_factor(current, 2, last)
    else:
        whole = previous > 0 and current > previous and current % previous == 0
        found = _by_factor(current, current // previous, last) if whole else []
        found = found or _by_difference(current, current - previous, last)
    if not found:
        raise ValueError(
            f"{text!r}: neither a factor nor a difference leads from {current} to {last} exactly; write all values"
        )
    return found


def _by_factor(first: int, factor: int, last: int) -> list[int]:
    found: list[int] = []
    while 0 < first < last and factor > 1:
        first *= factor
        found.append(first)
    return found if first == last else []


def _by_difference(first: int, step: int, last: int) -> list[int]:
    if step == 0 or (last - first) % step or not 0 < (last - first) // step <= LEVELS_MAX:
        return []
    return list(range(first + step, last + (1 if step > 0 else -1), step))
