"""Rates that come from memory: detected by the limits of storage devices, where no counter recorded the transfers.

Scope: a run by its rate and the streams that made it, each of which waits for its operation. A device needs some
microseconds to answer; a stream that goes through the page cache is held up by it and by the copy. What the device
itself moved, where that is known, says more than both.
A rate that a device could have is no proof that it had it.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from mileage.judge.audit import MEMORY_MAX

ANSWER_MIN_S: Final = 3e-6
"""Time in which no block device answers: the fastest, phase-change memory behind PCIe, needs about 5 us."""
STREAM_MAX: Final = 3e9
"""Bytes per second of one stream through the page cache above which hardly a device is behind it."""
BRIEF_S: Final = 1.0
BRIEF_STREAM_MAX: Final = 1e9
"""The same limit for a run shorter than `BRIEF_S`, whose data fits into memory."""


class RateFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One run as another tool reports it; None: not reported.

    `streams` are the operations that could be outstanding at once. `waits`: each operation goes to the device by
    itself, as random work and work past the page cache does; sequential work through it is read ahead.
    """

    cell: str
    streams: int | None
    bypasses: bool
    waits: bool
    rate_bytes_per_s: float | None
    ops_per_s: float | None
    elapsed_s: float | None
    moved_bytes: int | None
    device_bytes: int | None


class MemoryRate(msgspec.Struct, frozen=True):
    """Why a rate is one of memory. `certain`: no device could have it; otherwise it is likely.

    `mileage.report.audit_words` has the words of each kind.
    """

    certain: bool
    kind: Literal["moved-in-memory", "answer-time", "stream-rate"]
    figures: dict[str, float | int | str]


def memory_rate(run: RateFacts) -> MemoryRate | None:
    """Detect that the rate of a run comes from memory; None where nothing indicates it."""
    if run.moved_bytes and run.device_bytes is not None:
        share = 1 - run.device_bytes / run.moved_bytes
        if share > MEMORY_MAX:
            return MemoryRate(share > 0.5, "moved-in-memory", {"cell": run.cell, "memory_share": share})
    if not run.streams:
        return None
    if run.waits and run.ops_per_s and run.rate_bytes_per_s and run.streams / run.ops_per_s < ANSWER_MIN_S:
        each_ns = 1e9 * run.streams / run.ops_per_s
        return MemoryRate(True, "answer-time", {"cell": run.cell, "answer_ns": each_ns})
    stream = (run.rate_bytes_per_s or 0.0) / run.streams
    brief = run.elapsed_s is not None and run.elapsed_s < BRIEF_S
    if run.bypasses or stream <= (BRIEF_STREAM_MAX if brief else STREAM_MAX):
        return None
    figures: dict[str, float | int | str] = {"cell": run.cell, "stream_bytes_per_s": stream}
    if run.elapsed_s is not None:
        figures["elapsed_s"] = run.elapsed_s
    return MemoryRate(False, "stream-rate", figures)
