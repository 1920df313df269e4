"""The value that says what I/O to do, as Python holds it.

What it models: the `Workload` of the Rust crate `mileage-workload`, field for field; its JSON form is the
same.
What it refuses: what the Rust rules refuse. `Workload.problem` states those rules a second time, so that a
plan is refused before a target is opened; Rust checks again before it starts.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from mileage.plan.content import Content, Verify, content_problem, verify_problem
from mileage.plan.load import Load, load_problem
from mileage.plan.pattern import SECTOR_BYTES, Pattern, pattern_problem, pattern_word
from mileage.plan.rules import U32_MAX, U64_MAX, Multiple, Problem, Range, first_problem

Sync = Literal["none", "fsync", "fdatasync"]
Files = Literal["shared", "per_thread"]

RECORD_BYTES_MAX: Final = 1 << 30
DEPTH_MAX: Final = 4096
THREADS_MAX: Final = 1024
RECORDS_MAX: Final = 2**32 - 1


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
    """Order of the offsets."""
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
    sync_every: int = 0
    """Writes of a thread after which it syncs, besides the final sync; 0 for the final one only."""
    discard_percent: int = 0
    """Share of operations that discard, 0..100 percent, taken before the read share is drawn."""
    files: Files = "shared"
    """One file, or one for each thread."""
    load: Load = Load()
    """When operations start."""
    verify: Verify = "off"
    """Which reads are compared with what was written."""
    generation: int = 0
    """Number of this writing of the target, part of every block's content, 0..2^32-1."""

    def to_json(self) -> str:
        """The JSON text that the Rust side reads."""
        return msgspec.json.encode(self).decode()

    @property
    def operations(self) -> int | None:
        """Operations at most, over all threads; None when only time ends the run."""
        limits = [self.stop.operations]
        limits.append(None if self.stop.bytes is None else self.stop.bytes // self.record_bytes)
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def in_words(self) -> str:
        """What it does, without sizes: "sequential writes", "random, 70 % reads"."""
        pattern = pattern_word(self.pattern).replace("_", " ")
        if self.discard_percent == 100:
            return f"{pattern} discards"
        word = {0: "writes", 100: "reads"}.get(self.read_percent)
        shares = f"{pattern} {word}" if word else f"{pattern}, {self.read_percent} % reads"
        return shares + (f", {self.discard_percent} % discards" if self.discard_percent else "")

    def problem(self) -> Problem | None:
        """The first rule that the workload breaks, as (name of the field, what is wrong); None when valid."""
        ranges = (
            ("record_bytes", self.record_bytes, SECTOR_BYTES, RECORD_BYTES_MAX),
            ("read_percent", self.read_percent, 0, 100),
            ("discard_percent", self.discard_percent, 0, 100),
            ("depth", self.depth, 1, DEPTH_MAX),
            ("threads", self.threads, 1, THREADS_MAX),
            ("seed", self.seed, 0, U64_MAX),
            ("span_start_bytes", self.span_start_bytes, 0, U64_MAX),
            ("span_bytes", self.span_bytes, 0, U64_MAX - max(self.span_start_bytes, 0)),
            ("sync_every", self.sync_every, 0, U64_MAX),
            ("generation", self.generation, 0, U32_MAX),
        )
        multiples = (
            ("record_bytes", self.record_bytes, SECTOR_BYTES),
            ("span_start_bytes", self.span_start_bytes, self.record_bytes),
            ("span_bytes", self.span_bytes, self.record_bytes),
        )
        return (
            first_problem(ranges, multiples)
            or self._span_problem()
            or self._stop_problem()
            or pattern_problem(self.pattern, self.record_bytes)
            or self._sync_problem()
            or content_problem(self.content, self.record_bytes)
            or load_problem(self.load)
            or verify_problem(self.verify)
        )

    def _sync_problem(self) -> Problem | None:
        if self.sync_every and self.sync == "none":
            return "sync_every", f"{self.sync_every}: without a sync there is none between writes; choose one"
        return None

    def _span_problem(self) -> Problem | None:
        records = self.span_bytes // self.record_bytes
        if self.threads <= records <= RECORDS_MAX:
            return None
        return (
            "span_bytes",
            f"{records} records in the span: expected {self.threads} (threads) to {RECORDS_MAX}",
        )

    def _stop_problem(self) -> Problem | None:
        stop = self.stop
        if stop == Stop():
            return "stop", "no limit: expected bytes, operations or time"
        ranges: list[Range] = []
        multiples: list[Multiple] = []
        if stop.bytes is not None:
            multiples.append(("stop.bytes", stop.bytes, self.record_bytes))
            ranges.append(("stop.bytes", stop.bytes, self.record_bytes * self.threads, U64_MAX))
        if stop.operations is not None:
            ranges.append(("stop.operations", stop.operations, self.threads, U64_MAX))
        if stop.time_ns is not None:
            ranges.append(("stop.time_ns", stop.time_ns, 1, U64_MAX // 2))
        return first_problem(ranges, multiples)
