"""A `sustained` study that fits a checked directory or device: the size of its work file, its bytes and its hours.

Scope: a cache of one-bit cells (SLC) holds at most the capacity over the bits of a cell, which the data sheet of the
drive states; the work file has that size, or what fits. Hours are those at the rates that the check measured: a drive
that slows down, which the study is to find out, takes longer.
What it refuses: nothing; a study that the target does not take is no advice, and its reason is the text.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from mileage.analysis.check_result import Row, UntestedProperties
from mileage.app import study
from mileage.errors import Refused
from mileage.model.data_sheet import DISKS, DataSheet
from mileage.plan import Plan
from mileage.plan.estimate import bytes_written, estimate
from mileage.plan.sizes import duration, format_bytes
from mileage.targets.spec import parse_target

FILE_BYTES: Final = 8 << 30
"""Size of the work file where the size of the cache is not known."""
_GIB: Final = 1 << 30
_MIB: Final = 1 << 20
_BITS: Final = {"mlc": 2, "tlc": 3, "qlc": 4}
"""Bits of a cell."""
_NO_CACHE: Final = ("slc", "xpoint", *DISKS)
"""Media without a cache of one-bit cells."""
_THREADS: Final = 8
"""Outstanding operations of the study."""


def file_of(free_bytes: int, sheet: DataSheet | None) -> tuple[int, str]:
    """The size of a work file in bytes, at most four fifths of `free_bytes`, and what it follows from."""
    medium = "" if sheet is None else sheet.medium.value
    if sheet is not None and medium in _BITS:
        most = sheet.capacity_bytes.value // _BITS[medium]
        reason = f"{sheet.title} has at most {format_bytes(most // _GIB * _GIB)} of SLC cache ({medium.upper()} cells)"
    elif sheet is not None and medium in _NO_CACHE:
        most, reason = FILE_BYTES, f"{sheet.title} has no SLC cache"
    else:
        most, reason = FILE_BYTES, "the size of the drive's cache is not known"
    room = free_bytes * 4 // 5
    unit = _GIB if min(most, room) >= _GIB else _MIB
    size = min(most, room) // unit * unit
    cut = "" if size >= most // unit * unit else ", and the file is what fits"
    return size, f"{reason}{cut}"


def sustained_advice(plan: Plan, rows: Sequence[Row], sheet: DataSheet | None) -> UntestedProperties:
    """What a check of a directory or a device cannot show, and what tests it, with bytes and hours."""
    what = "the speed once a write cache (SLC) is full, and after long writes"
    file, path, reason = None, None, "everything on it would be LOST"
    options = ["sustained", "--target", plan.target]
    if plan.facts.capabilities.has_files:
        size, reason = file_of(plan.facts.free_bytes, sheet)
        file = f"{size // _GIB}GiB" if size >= _GIB else f"{size // _MIB}MiB"
        options += ["--file", file]
    else:
        path = parse_target(plan.target).name
        options += ["--destroy", path]
    try:
        wanted = study.plan("sustained", target=plan.target, file=file, destroy=path)
    except Refused as refused:
        return UntestedProperties(f"{what}: the study sustained is refused: {refused.message}", ())
    if any(row.direction == "write" for row in rows):
        time = f"{duration(time_s(wanted, rows))} at the rates above, longer where the drive slows down"
    else:
        cost = estimate(wanted)
        time = f"about {duration(cost.time_s)} (assumed: {cost.assumption})"
    words = (
        f"{what}. Such a test writes {format_bytes(bytes_written(wanted.runs))} at most and takes {time}; {reason}. "
        "Its plan, and the test:"
    )
    return UntestedProperties(
        words, tuple(f"mileage {verb} {shlex.join(options)}" for verb in ("plan", "run"))
    )


def time_s(wanted: Plan, rows: Sequence[Row]) -> float:
    """Seconds of a plan's runs at the rates of a check; the idling of a control takes as long as what it mirrors."""
    times: list[float] = []
    for run in wanted.runs:
        if run.mirrors is not None:
            times.append(times[run.mirrors])
        elif run.workload is not None:
            order = "SEQ" if run.workload.pattern == "sequential" else "RND"
            written, read = run.action.bytes_written, run.action.bytes_read
            times.append(
                written / _bytes_per_s(rows, order, "write") + read / _bytes_per_s(rows, order, "read")
            )
        else:
            times.append(0.0)
    return sum(times)


def _bytes_per_s(rows: Sequence[Row], order: str, direction: str) -> float:
    """The rate of a test at the depth of the study: no more than at the largest depth, nor than in proportion."""
    rates = [
        mean * 1e6 * max(1.0, _THREADS / row.depth)
        for row in rows
        if row.name.startswith(order) and row.direction == direction and (mean := row.rate.geometric_mean)
    ]
    return min(rates, default=float("inf"))
