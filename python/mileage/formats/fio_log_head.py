"""Detect from the first lines of a fio log whether it holds single operations or averages, and their window and unit.

Scope: a block size of 0 marks averages; the time from one to the next is their window. fio 2, and fio 3 before
3.17, write four columns: the first latencies in microseconds, the second in nanoseconds. No operation takes longer than
the job has run when it ends, which identifies nanoseconds at the beginning of most logs of single operations.
What it refuses: to guess the unit of other latencies in four columns, and times that do not begin with the job.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.formats.number_parser import whole

_LINES_MAX: Final = 1000
_OLD_COLUMNS: Final = 4
_BEGINNING: Final = 100
"""Operations that are looked at for the unit."""
_ROUNDED_MS: Final = 10
"""Possible error of an operation's time.

It is rounded to whole milliseconds, and the clock of the log begins a little later.
"""
_LATE_MS: Final = 60_000
"""The earliest first entry that is taken to be of another clock, or of a log whose beginning is lost."""
_LATE_SHARE: Final = 0.1
"""The least share of the logged time by which such an entry is late."""
_CLOCK_MS: Final = 10**11
"""Three years: a later time is of a clock, even alone."""


class Head(msgspec.Struct, frozen=True):
    """The beginning of a log."""

    single: bool
    """Whether every line is a single operation."""
    window_ms: float | None
    """Time between two averages; None for single operations."""
    columns: int
    first_ms: int
    """The earliest time of the beginning."""
    last_ms: int
    """The time of the last line of the log."""
    nanoseconds: bool
    """Whether the values of the log, if they are latencies, are certainly in nanoseconds."""


def head_of(lines: Sequence[str], last_ms: int) -> Head:
    """Derive the properties of a log from at least one complete line; lines with impossible numbers are skipped."""
    texts = [[whole(part) for part in line.split(",")[:4]] for line in lines[:_LINES_MAX]]
    rows = [[value for value in row if value is not None] for row in texts if None not in row]
    single = any(row[3] != 0 for row in rows)
    columns = max(line.count(",") + 1 for line in lines[:_LINES_MAX])
    first = rows[:_BEGINNING]
    longer = sum(value / 1000 > time_ms + _ROUNDED_MS for time_ms, value, *_ in first)
    return Head(
        single=single,
        window_ms=None if single else _window_ms(rows, last_ms),
        columns=columns,
        first_ms=min((row[0] for row in rows), default=0),
        last_ms=last_ms,
        nanoseconds=columns > _OLD_COLUMNS or not rows or (single and 2 * longer > len(first)),
    )


def _window_ms(rows: Sequence[Sequence[int]], last_ms: int) -> float:
    """The window of averages: the mean step but for gaps, made to fit the whole log, as each may be a little late."""
    steps = [
        step
        for direction in range(3)
        for step in (b - a for a, b in pairwise(row[0] for row in rows if row[2] == direction))
        if step > 0
    ]
    if not steps:
        return float(max(last_ms, 1))
    usual = statistics.median(steps)
    step = statistics.fmean(step for step in steps if step < 1.5 * usual)
    return last_ms / max(round(last_ms / step), 1) if last_ms else float(step)


def require_unit(path: Path, head: Head) -> None:
    """Raises Refused when the unit of the latencies of a log is ambiguous."""
    if not head.nanoseconds:
        raise Refused(
            path,
            "four columns, in which fio 2 writes microseconds and fio 3 before 3.18 nanoseconds; the "
            "file does not state which",
            expected="the JSON of the run next to it, or --layout fio2-logs or fio-logs",
            code="ambiguous",
        )


def require_job_time(path: Path, first_ms: int, last_ms: int, window_ms: float) -> None:
    """Raises Refused when times are not since the job began, as operations and bytes over them would be no rates.

    `window_ms`: the time from one average to the next, 0 for single operations and where it is not known.
    """
    late_ms = first_ms - 2 * window_ms
    lasted_ms = last_ms - first_ms
    if first_ms < _CLOCK_MS and (not lasted_ms or late_ms < _LATE_MS or late_ms < _LATE_SHARE * lasted_ms):
        return
    raise Refused(
        path,
        f"its first entry is of {first_ms / 1000:,.0f} s and its last of {last_ms / 1000:,.0f} s: "
        "the times are of a clock, or the beginning is lost",
        expected="times since the job began, as fio writes them without log_unix_epoch and log_alternate_epoch",
        advice="subtract the time at which the job began from the first column",
        code="ambiguous",
    )
