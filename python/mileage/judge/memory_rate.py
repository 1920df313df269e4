"""Rates that come from memory: detected by the limits of storage devices, where no counter recorded the transfers.

Scope: a run by its rate and the streams that made it, each of which waits for its operation. A device needs some
microseconds to answer; a stream that goes through the page cache is held up by it and by the copy. What the device
itself moved, where that is known, says more than both.
A rate that a device could have is no proof that it had it.
"""

from __future__ import annotations

from typing import Final

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
    """Why a rate is one of memory. `certain`: no device could have it; otherwise it is likely."""

    certain: bool
    text: str


def memory_rate(run: RateFacts) -> MemoryRate | None:
    """Detect that the rate of a run comes from memory; None where nothing indicates it."""
    if run.moved_bytes and run.device_bytes is not None:
        share = 1 - run.device_bytes / run.moved_bytes
        if share > MEMORY_MAX:
            statement = (
                f"{share:.0%} of the bytes of {run.cell} were read from or written to memory, not the device"
            )
            return MemoryRate(share > 0.5, statement)
    if not run.streams:
        return None
    if run.waits and run.ops_per_s and run.rate_bytes_per_s and run.streams / run.ops_per_s < ANSWER_MIN_S:
        each_ns = 1e9 * run.streams / run.ops_per_s
        statement = f"{run.cell} took {each_ns:,.0f} ns for each operation, which only memory does"
        return MemoryRate(True, statement)
    stream = (run.rate_bytes_per_s or 0.0) / run.streams
    brief = run.elapsed_s is not None and run.elapsed_s < BRIEF_S
    if run.bypasses or stream <= (BRIEF_STREAM_MAX if brief else STREAM_MAX):
        return None
    lasted = "" if run.elapsed_s is None else f" for {_time_words(run.elapsed_s)}"
    statement = f"{run.cell} moved {stream / 1e9:,.1f} GB/s in one stream{lasted}, without direct I/O"
    return MemoryRate(False, f"{statement}: more likely the page cache than a device")


def _time_words(time_s: float) -> str:
    """A time without an exponent: "129 µs", "3.2 s"."""
    scale, unit = next(
        ((1 / n, u) for n, u in ((1, "s"), (1e3, "ms"), (1e6, "µs")) if time_s * n >= 1), (1e-9, "ns")
    )
    return f"{time_s / scale:.3g} {unit}"
