"""The value that says what I/O to do, as Python holds it.

What it models: the `Workload` of the Rust crate `mileage-workload`, field for field; its JSON form is the
same.
What it refuses: what the Rust rules refuse. `Workload.problem` states those rules a second time, so that a
plan is refused before a target is opened; Rust checks again before it starts.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Pattern = Literal["sequential", "shuffled", "random"]
Content = Literal["incompressible", "zeros"]
Sync = Literal["none", "fsync", "fdatasync"]

SECTOR_BYTES: Final = 512
RECORD_BYTES_MAX: Final = 1 << 30
DEPTH_MAX: Final = 4096
THREADS_MAX: Final = 1024
RECORDS_MAX: Final = 2**32 - 1
U64_MAX: Final = 2**64 - 1


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a run ends: at the first limit reached. Bytes and operations are totals over all threads."""

    bytes: int | None = None
    """Bytes moved; a multiple of the record, at least one record for each thread."""
    operations: int | None = None
    """Operations issued; at least one for each thread."""
    time_ns: int | None = None
    """Time since the first operation, in nanoseconds, above 0."""


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What I/O to do. Valid when `problem()` is None."""

    pattern: Pattern
    """Order of the offsets: sequential wraps around, shuffled visits each record once, random is uniform."""
    read_percent: int
    """Share of operations that read, 0..100 percent; the others write."""
    record_bytes: int
    """Size of every operation, 512 bytes to 1 GiB, a multiple of 512."""
    span_start_bytes: int
    """First byte of the span, a multiple of the record."""
    span_bytes: int
    """Length of the span, a multiple of the record, at least one record for each thread."""
    depth: int
    """Operations outstanding per thread, 1..4096."""
    threads: int
    """Threads, 1..1024."""
    stop: Stop
    """When to stop; at least one limit."""
    seed: int
    """Source of every random choice, 0..2^64-1."""
    content: Content = "incompressible"
    """What is written."""
    sync: Sync = "none"
    """How writes are made durable, once, after the last one."""
    sync_timed: bool = False
    """Whether that final sync counts in the run's time."""

    def to_json(self) -> str:
        """The JSON text that the Rust side reads."""
        return msgspec.json.encode(self).decode()

    @property
    def operations(self) -> int | None:
        """Operations at most, over all threads; None when only time ends the run."""
        limits = [self.stop.operations]
        limits.append(None if self.stop.bytes is None else self.stop.bytes // self.record_bytes)
        return min((limit for limit in limits if limit is not None), default=None)

    def problem(self) -> tuple[str, str] | None:
        """The first rule that the workload breaks, as (name of the field, what is wrong); None when valid."""
        ranges = (
            ("record_bytes", self.record_bytes, SECTOR_BYTES, RECORD_BYTES_MAX),
            ("read_percent", self.read_percent, 0, 100),
            ("depth", self.depth, 1, DEPTH_MAX),
            ("threads", self.threads, 1, THREADS_MAX),
            ("seed", self.seed, 0, U64_MAX),
            ("span_start_bytes", self.span_start_bytes, 0, U64_MAX),
            ("span_bytes", self.span_bytes, 0, U64_MAX - max(self.span_start_bytes, 0)),
        )
        multiples = (
            ("record_bytes", self.record_bytes, SECTOR_BYTES),
            ("span_start_bytes", self.span_start_bytes, self.record_bytes),
            ("span_bytes", self.span_bytes, self.record_bytes),
        )
        return _first(ranges, multiples) or self._span_problem() or self._stop_problem()

    def _span_problem(self) -> tuple[str, str] | None:
        records = self.span_bytes // self.record_bytes
        if self.threads <= records <= RECORDS_MAX:
            return None
        return (
            "span_bytes",
            f"{records} records in the span: expected {self.threads} (threads) to {RECORDS_MAX}",
        )

    def _stop_problem(self) -> tuple[str, str] | None:
        stop = self.stop
        if stop == Stop():
            return "stop", "no limit: expected bytes, operations or time"
        ranges: list[tuple[str, int, int, int]] = []
        multiples: list[tuple[str, int, int]] = []
        if stop.bytes is not None:
            multiples.append(("stop.bytes", stop.bytes, self.record_bytes))
            ranges.append(("stop.bytes", stop.bytes, self.record_bytes * self.threads, U64_MAX))
        if stop.operations is not None:
            ranges.append(("stop.operations", stop.operations, self.threads, U64_MAX))
        if stop.time_ns is not None:
            ranges.append(("stop.time_ns", stop.time_ns, 1, U64_MAX // 2))
        return _first(ranges, multiples)


def _first(
    ranges: tuple[tuple[str, int, int, int], ...] | list[tuple[str, int, int, int]],
    multiples: tuple[tuple[str, int, int], ...] | list[tuple[str, int, int]],
) -> tuple[str, str] | None:
    for field, found, low, high in ranges:
        if not low <= found <= high:
            return field, f"{found}: expected {low} to {high}"
    for field, found, divisor in multiples:
        if found % divisor:
            return field, f"{found} bytes is not a multiple of {divisor} bytes"
    return None
