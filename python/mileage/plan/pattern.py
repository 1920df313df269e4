"""The access pattern: which record comes next.

Scope: the `PatternKind` of the Rust crate `mileage-workload`. A pattern without numbers is a word
("sequential"); one with numbers is a table of one entry that has its name: `{"stride": {"step_records": 17}}`.
What it refuses: what the Rust rules refuse; a table with no entry, or with several.
"""

from __future__ import annotations

import math
from typing import Annotated, Final, Literal, get_args

import msgspec
from msgspec import Meta

from mileage.model.operation_kind import OperationKind

PatternName = Literal["sequential", "shuffled", "random", "backward", "fixed", "iozone_shuffle"]
PATTERN_NAMES: Final[tuple[PatternName, ...]] = get_args(PatternName)
IorOrderName = Literal["in_order", "random"]

SECTOR_BYTES: Final = 512
RECORD_BYTES_MAX: Final = 1 << 30
_Step = Annotated[int, Meta(ge=1, le=1 << 40)]
_Percent = Annotated[int, Meta(ge=0, le=100)]


class Stride(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record, then the one `step_records` further on, until each was visited once."""

    step_records: _Step
    """Distance in records, 1 or more."""


class IozoneStride(Stride, frozen=True, forbid_unknown_fields=True):
    """Record order of IOzone's stride test (`-j`): some records are visited twice, some never."""

    step_records: _Step = 17


class Zipf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Zipf over the whole span; which records are popular is a seeded permutation."""

    theta_hundredths: Annotated[int, Meta(ge=1, le=300)]
    """The exponent in hundredths, 1..300."""


class HotCold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A hot part at the start of the span, uniform inside each part."""

    hot_percent: Annotated[int, Meta(ge=1, le=99)]
    """Share of the span that is hot, 1..99 percent."""
    access_percent: _Percent
    """Share of operations that go there, 0..100 percent."""


class PartlySequential(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sequential, with a chance to jump to a random record and continue from there."""

    random_percent: _Percent
    """Chance of a jump, 0..100 percent."""


class AccessLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of an IOMeter access specification."""

    size_bytes: int
    """Size of a transfer, 1 byte to 1 GiB."""
    share_percent: int
    """Share of the specification, 1..100 percent."""
    read_percent: int
    """Share of reads, 0..100 percent."""
    random_percent: int
    """Share of random places, 0..100 percent; the others follow the transfer before."""
    delay_ms: int = 0
    """Pause before each burst, in milliseconds."""
    burst: int = 1
    """Operations in a burst, 1 or more."""
    align_bytes: int = 0
    """Places are multiples of this; 0 for the sector, or what it has in common with odd sizes."""


class Access(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An IOMeter access specification: sizes, mixes, bursts and delays come from its lines."""

    lines: tuple[AccessLine, ...]
    """1..100 lines whose shares add up to 100 percent."""


class ReorderedPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In order, the part of another task."""

    tasks: int
    """Distance in tasks, 1 or more."""


class IorOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """IOR's orders that have a number."""

    reordered: ReorderedPart


class Ior(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """IOR's layout: segments of one block per task, cut into transfers of the record."""

    block_bytes: int
    """A task's part of a segment in bytes, a multiple of the record."""
    order: IorOrderName | IorOrder = "in_order"
    """Order of the transfers, and whose part is visited."""


class TraceOp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operation of a trace."""

    at_ns: int
    """Time of the operation, in nanoseconds since the trace began."""
    kind: OperationKind
    offset_bytes: int
    length_bytes: int
    """0 for a sync."""


class Trace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The operations of a trace, in the order of their times."""

    operations: tuple[TraceOp, ...]
    timed: bool = False
    """Whether operations wait for their recorded times."""


class TraceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A trace that lies in a file, and what must be known of it. Its operations take its place before a run."""

    path: str
    """Path of the file."""
    sha256: str
    """64 hexadecimal digits over its operations, so that a changed file is noticed."""
    operations: int
    """Number of operations, 1 or more."""
    reads: int = 0
    """Number of reads."""
    writes: int = 0
    """Number of writes."""
    syncs: int = 0
    """Number of syncs."""
    bytes: int = 0
    """Bytes that they read and write together."""
    largest_bytes: int = 512
    """The longest operation."""
    end_bytes: int = 0
    """The first byte after the furthest operation."""
    unit_bytes: int = 512
    """The largest power of two, at most 1 MiB, that divides every offset and length."""
    duration_ns: int = 0
    """Time of the last operation."""
    timed: bool = False
    """Whether operations wait for their recorded times."""

    @property
    def discards(self) -> int:
        """Number of discards."""
        return self.operations - self.reads - self.writes - self.syncs


def in_short(trace: TraceFile) -> Trace:
    """The fewest operations that keep or break the core's rules as all of a trace do."""
    kinds: tuple[tuple[OperationKind, int], ...] = (
        ("read", trace.reads),
        ("write", trace.writes),
        ("discard", trace.discards),
    )
    start = max(trace.end_bytes - trace.largest_bytes, 0)
    found = [TraceOp(0, kind, start, trace.largest_bytes) for kind, count in kinds if count]
    return Trace((*found, *((TraceOp(0, "sync", 0, 0),) if trace.syncs else ())), trace.timed)


class PatternTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A pattern that has numbers: exactly one of these is given."""

    stride: Stride | None = None
    iozone_stride: IozoneStride | None = None
    zipf: Zipf | None = None
    hot_cold: HotCold | None = None
    partly_sequential: PartlySequential | None = None
    access: Access | None = None
    ior: Ior | None = None
    trace: Trace | None = None
    trace_file: TraceFile | None = None
    """Trace in Python only; the core receives the `trace` itself."""

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the entries that are set; a valid table has one."""
        return tuple(name for name in self.__struct_fields__ if getattr(self, name) is not None)


Pattern = PatternName | PatternTable


def pattern_word(pattern: Pattern) -> str:
    """The pattern's name: "sequential", "stride"."""
    return pattern if isinstance(pattern, str) else " and ".join(pattern.given) or "none"


def is_sequential(pattern: Pattern) -> bool:
    """Whether most operations follow the one before, in either direction."""
    return pattern_word(pattern) in ("sequential", "backward", "fixed", "partly_sequential", "ior")


def is_own_master(pattern: Pattern) -> bool:
    """Whether the pattern itself defines size, kind and position of each operation."""
    return pattern_word(pattern) in ("access", "trace", "trace_file")


def unit_bytes(pattern: Pattern, record_bytes: int) -> int:
    """Common divisor of all offsets and lengths of a workload: the record, unless operations differ in size."""
    if isinstance(pattern, PatternTable) and pattern.access is not None:
        return math.gcd(*lengths_of(pattern, record_bytes))
    if isinstance(pattern, PatternTable) and pattern.trace_file is not None:
        return pattern.trace_file.unit_bytes
    return record_bytes


def lengths_of(pattern: Pattern, record_bytes: int) -> tuple[int, ...]:
    """The sizes of a workload's operations; of a trace the common divisor of its sizes and places."""
    if isinstance(pattern, PatternTable) and pattern.access is not None:
        return tuple(line.size_bytes for line in pattern.access.lines)
    return (unit_bytes(pattern, record_bytes),)


class OperationShares(msgspec.Struct, frozen=True):
    """Shares of a workload's operations in percent; they add up to 100, syncs not counted."""

    read: float
    write: float
    discard: float


def does(pattern: Pattern, read_percent: int, discard_percent: int) -> OperationShares:
    """Shares of a workload's operations: as the pattern defines them, or else as the workload does."""
    if isinstance(pattern, PatternTable) and pattern.access is not None:
        reads = sum(line.share_percent * line.read_percent for line in pattern.access.lines) / 100
        return OperationShares(reads, 100 - reads, 0.0)
    if isinstance(pattern, PatternTable) and pattern.trace_file is not None:
        trace = pattern.trace_file
        counts = (trace.reads, trace.writes, trace.discards)
        return OperationShares(*(100 * count / trace.operations for count in counts))
    if isinstance(pattern, PatternTable) and pattern.trace is not None:
        kinds = [op.kind for op in pattern.trace.operations]
        total = max(len(kinds), 1)
        return OperationShares(*(100 * kinds.count(kind) / total for kind in ("read", "write", "discard")))
    rest = 100 - discard_percent
    return OperationShares(
        rest * read_percent / 100, rest * (100 - read_percent) / 100, float(discard_percent)
    )
