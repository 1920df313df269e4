"""What the readers of fio's JSON, its normal output and its terse output have in common.

Scope: fio 3 only; the percentiles that are kept; when reads and writes are of one mix; the notes of a run.
"""

from __future__ import annotations

from typing import Final

from mileage.errors import Refused
from mileage.formats.result import ToolRun

ALL_CLIENTS: Final = "All clients"
"""What fio calls the sum of the jobs of several clients."""
QUANTILES: Final = {50.0: "p50", 90.0: "p90", 99.0: "p99", 99.9: "p99_9"}
"""Percentiles that are kept, and their names."""
READS: Final = ("read", "randread")
"""Patterns without writes."""
WRITES: Final = ("write", "randwrite")
"""Patterns whose reads are those of `verify`, after the writes or between them."""
_UNEQUAL_MIN: Final = 1.05
_UNEQUAL_MS: Final = 100
"""Difference of the run times of reads and writes that no mix has."""


def version_3(where: str, version: str) -> str:
    """The version of "fio-3.33" or "3.33". Raises Refused for one before 3, whose units differ under equal names."""
    number = version.removeprefix("fio-")
    if number.startswith(("0.", "1.", "2.")):
        raise Refused(where, f"fio-{number[:40]}", expected="fio 3, whose units are read", code="unsupported")
    return number


def note_concurrent(run: ToolRun, name: str, others: list[str]) -> None:
    """Record the other jobs of a run's group, which ran at the same time."""
    if others:
        run.levels["concurrent"] = ", ".join(others)
        run.notes.append(f"{name} is in one group with {', '.join(others)}: they may have run side by side")


def note_reports(run: ToolRun, reports: int) -> None:
    """Record that a run is the last of several status reports."""
    if reports > 1:
        run.notes.append(
            f"the file has {reports} status reports of one run (--status-interval); the last is used, as each "
            "holds the totals so far"
        )


def note_unjoined(run: ToolRun, jobs: int) -> None:
    """Record that the percentiles of several jobs side by side are none of the run."""
    run.notes.append(f"percentiles of {jobs} jobs cannot be joined; group_reporting or JSON+ keeps them")


def leave_verification(run: ToolRun, ops: int | None) -> None:
    """Record reads that `verify` did in a job that writes: they are no part of its work, and took time of their own."""
    run.bytes_read = run.ops_read = None
    run.counters["verified_ops"] = ops or 0
    run.notes.append(f"{run.cell}: the reads of verify are in no figure but the printed ones")


def drop_unmixed(run: ToolRun, read_ms: float, write_ms: float) -> None:
    """Drop the rates of reads and writes together, of a job whose pattern is not known, where they were no mix.

    Reads and writes of one mix take equal times; those of `verify` come after the writes.
    """
    least_ms, most_ms = sorted((read_ms, write_ms))
    if most_ms > max(_UNEQUAL_MIN * least_ms, least_ms + _UNEQUAL_MS):
        run.rate_bytes_per_s = run.ops_per_s = run.elapsed_s = None
        times = f"reads took {read_ms / 1000:g} s and writes {write_ms / 1000:g} s"
        run.notes.append(f"{run.cell}: {times}, so they are no mix, and have no rate together")
    else:
        run.notes.append(
            f"{run.cell}: reads and writes are taken for one mix; the file does not state the pattern"
        )
