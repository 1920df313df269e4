"""Rules of single values of a study: sizes, times, names, lists, stop rules and repetitions.

Scope: what makes a value wrong by itself, whatever table it stands in.
Each broken rule is added to the faults of the study with the path of its value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, TypeVar

from mileage.plan import sizes
from mileage.plan.faults import Faults
from mileage.plan.pattern import RECORD_BYTES_MAX
from mileage.plan.ranges import BLOCKS_MAX
from mileage.plan.study import Repeat, Size, StopRule

REPEAT_MIN: Final = 5
"""Blocks before the first look at the precision: with fewer, a 95 % interval holds the value less often than that."""

SESSION_NAME_MAX: Final = 100
"""Characters of the name of a session."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")

L = TypeVar("L", int, Size)


def is_session_name(text: str) -> bool:
    """Whether a text can name a session: one line of at most 100 characters, not only spaces."""
    return bool(text.strip()) and text.isprintable() and len(text) <= SESSION_NAME_MAX


class ValueChecks:
    """Checks values one by one, each under its path."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.refuse = faults.add

    def limit(self, path: str, count: int, most: int, what: str) -> None:
        """Refuse what is too long to be looked at entry by entry."""
        if count > most:
            self.refuse(path, found=f"{count} {what}", expected=f"at most {most}", code="out-of-range")
            self.faults.refuse_any()

    def filled(self, path: str, listed: object, what: str) -> None:
        if listed == ():
            self.refuse(path, "the list is empty", expected=f"at least one {what}", code="empty")

    def record(self, path: str, record: Size | tuple[Size, ...]) -> None:
        self.filled(path, record, "size")
        found_sizes: list[int] = []
        for at, size in _indexed(path, record):
            found = self.reads(at, partial(sizes.size_bytes, size))
            if found is None:
                continue
            found_sizes.append(found)
            if not 1 <= found <= RECORD_BYTES_MAX:
                self.refuse(at, found=_quoted(size), expected="1 B to 1 GiB", code="out-of-range")
        self.distinct(path, found_sizes)

    def levels(self, path: str, levels: int | tuple[int, ...]) -> None:
        self.filled(path, levels, "number")
        self.distinct(path, list(levels) if isinstance(levels, tuple) else [levels])

    def distinct(self, path: str, levels: Sequence[object]) -> None:
        for index, level in enumerate(levels):
            if level in levels[:index]:
                self.refuse(f"{path}[{index}]", f"{level} is in the list twice", code="repeated")

    def start(self, path: str, size: Size) -> None:
        if size != 0:
            self.area(path, size)

    def stop(self, path: str, stop: StopRule) -> None:
        if stop.bytes is None and stop.operations is None and stop.time is None:
            self.refuse(path, "no limit", expected="bytes, operations or time", code="missing")
        if stop.bytes is not None:
            self.area(f"{path}.bytes", stop.bytes)
        if stop.time is not None:
            self.time(f"{path}.time", stop.time)
        if stop.at_least is not None:
            self.time(f"{path}.at_least", stop.at_least)
            if stop.bytes is None and stop.operations is None:
                self.refuse(
                    f"{path}.at_least",
                    "has no count to multiply",
                    advice="give bytes or operations as well",
                    code="no-effect",
                )
            limit = self.time(f"{path}.time", stop.time) if stop.time is not None else None
            if limit and limit < (self.time(f"{path}.at_least", stop.at_least) or 0):
                self.refuse(
                    f"{path}.at_least",
                    found=f"{stop.at_least!r}, above the time of {stop.time!r}",
                    code="out-of-range",
                )

    def repeat(self, path: str, repeat: int | Repeat) -> None:
        if not isinstance(repeat, Repeat):
            return
        for key, other in (("max", "precision"), ("precision", "max")):
            if getattr(repeat, key) is not None and getattr(repeat, other) is None:
                self.refuse(
                    f"{path}.{key}",
                    f"has no effect without {other}",
                    advice="give both or neither",
                    code="no-effect",
                )
        if repeat.max is not None and repeat.precision is not None:
            self.whole(f"{path}.min", repeat.min, REPEAT_MIN, BLOCKS_MAX)
            self.whole(f"{path}.max", repeat.max, repeat.min, BLOCKS_MAX)

    def area(self, path: str, size: Size) -> None:
        found = self.reads(path, lambda: sizes.area_bytes(size, work_bytes=1 << 50, multiple_bytes=1))
        if found == 0:
            self.refuse(path, found=_quoted(size), expected="more than 0", code="out-of-range")

    def time(self, path: str, text: str) -> int | None:
        return self.reads(path, lambda: sizes.parse_time_ns(text))

    def reads(self, path: str, read: Callable[[], int]) -> int | None:
        try:
            return read()
        except ValueError as error:
            self.refuse(path, str(error), code="wrong-value")
            return None

    def whole(self, path: str, found: int, low: int, high: int) -> None:
        if not low <= found <= high:
            self.refuse(
                path, found=f"{found}", expected=f"a whole number from {low} to {high}", code="out-of-range"
            )

    def named(self, path: str, name: str) -> None:
        if not _NAME.fullmatch(name):
            self.refuse(
                path,
                found=f"{name!r}",
                expected="a name of letters, digits, '-' and '_', at most 40",
                code="wrong-value",
            )


def _indexed(path: str, value: L | tuple[L, ...]) -> Iterator[tuple[str, L]]:
    """Pairs of path and value: one for a single value, one for each member of a list."""
    if isinstance(value, tuple):
        yield from ((f"{path}[{index}]", member) for index, member in enumerate(value))
    else:
        yield path, value


def _quoted(size: Size) -> str:
    return f'"{size}"' if isinstance(size, str) else str(size)
