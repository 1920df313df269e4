"""The value that says what I/O to do, as Python holds it.

Scope: the `Workload` of the Rust crate `mileage-workload`, field for field; its JSON form is the
same.
What it refuses: what the Rust rules refuse. `Workload.problem` asks them before a target is opened.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from mileage._core import workload_problem
from mileage.plan.content import Content, Verify
from mileage.plan.load_model import Load
from mileage.plan.pattern import (
    OperationShares,
    Pattern,
    PatternTable,
    does,
    in_short,
    is_own_master,
    pattern_word,
)
from mileage.plan.rules import Problem

Sync = Literal["none", "fsync", "fdatasync", "fua"]
Files = Literal["shared", "per_thread"]

DEPTH_MAX: Final = 4096
THREADS_MAX: Final = 1024


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
    """Size of every operation, 1 byte to 1 GiB; of whole blocks where no page cache is between."""
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
        """Encode as the JSON text that the Rust core reads."""
        return msgspec.json.encode(self).decode()

    @property
    def operations(self) -> int | None:
        """Operations at most, over all threads; None when only time ends the run, or bytes of many sizes."""
        limits = [self.stop.operations]
        if self.stop.bytes is not None and not is_own_master(self.pattern):
            limits.append(self.stop.bytes // self.record_bytes)
        if isinstance(self.pattern, PatternTable) and self.pattern.trace_file is not None:
            limits.append(self.pattern.trace_file.operations)
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def mean_bytes(self) -> float:
        """Bytes of an operation on average."""
        pattern = self.pattern
        if isinstance(pattern, PatternTable) and pattern.access is not None:
            return sum(line.size_bytes * line.share_percent for line in pattern.access.lines) / 100
        if isinstance(pattern, PatternTable) and pattern.trace_file is not None:
            return pattern.trace_file.bytes / pattern.trace_file.operations
        return float(self.record_bytes)

    @property
    def does(self) -> OperationShares:
        """Share of each kind of operation, in percent."""
        return does(self.pattern, self.read_percent, self.discard_percent)

    @property
    def changes(self) -> bool:
        """Whether it changes the content of its target."""
        return self.does.write > 0 or self.does.discard > 0

    @property
    def in_words(self) -> str:
        """Description without sizes: "sequential writes", "random, 70 % reads"."""
        pattern = pattern_word(self.pattern).replace("_", " ")
        found = self.does
        if found.discard == 100:
            return f"{pattern} discards"
        word = "reads" if found.read == 100 else "writes" if found.write == 100 else ""
        shares = f"{pattern} {word}" if word else f"{pattern}, {found.read:.0f} % reads"
        return shares + (f", {found.discard:.0f} % discards" if found.discard else "")

    def problem(self) -> Problem | None:
        """The first rule that the workload breaks, as (path of the field, what is wrong); None when valid."""
        if isinstance(self.pattern, PatternTable) and len(self.pattern.given) != 1:
            known = ", ".join(self.pattern.__struct_fields__)
            return "pattern", f"{pattern_word(self.pattern)} of {known}: expected one"
        try:
            return workload_problem(self._to_core().to_json())
        except ValueError as error:
            return "workload", str(error)

    def _to_core(self) -> Workload:
        """The workload with operations that stand for those of a trace, which the core is given only when it runs."""
        if not (isinstance(self.pattern, PatternTable) and self.pattern.trace_file is not None):
            return self
        return msgspec.structs.replace(self, pattern=PatternTable(trace=in_short(self.pattern.trace_file)))
