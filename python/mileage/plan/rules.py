"""The two kinds of rule that a number of a workload can break, and the words for it.

What it models: a range, and a divisor. A rule that is broken is (name of the field, what is wrong).
What it refuses: nothing; who states the rules decides what follows from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

U32_MAX: Final = 2**32 - 1
U64_MAX: Final = 2**64 - 1

Problem = tuple[str, str]
Range = tuple[str, int, int, int]
"""Field, what was found, smallest and largest allowed."""
Multiple = tuple[str, int, int]
"""Field, what was found, and what must divide it, above 0."""


def first_problem(ranges: Iterable[Range], multiples: Iterable[Multiple] = ()) -> Problem | None:
    """The first range that is missed, then the first divisor that does not divide; None when all hold."""
    for field, found, low, high in ranges:
        if not low <= found <= high:
            return field, f"{found}: expected {low} to {high}"
    for field, found, divisor in multiples:
        if found % divisor:
            return field, f"{found} bytes is not a multiple of {divisor} bytes"
    return None
