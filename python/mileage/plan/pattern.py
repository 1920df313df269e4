"""Which record comes next, as Python holds it.

What it models: the `PatternKind` of the Rust crate `mileage-workload`. A pattern without numbers is a word
("sequential"); one with numbers is a table of one entry that has its name: `{"stride": {"step_records": 17}}`.
What it refuses: what the Rust rules refuse; a table with no entry, or with several.
"""

from __future__ import annotations

import math
from typing import Final, Literal, get_args

import msgspec

from mileage.plan.rules import U32_MAX, U64_MAX, Problem, first_problem

PatternName = Literal["sequential", "shuffled", "random", "backward", "fixed", "iozone_shuffle"]
PATTERN_NAMES: Final[tuple[PatternName, ...]] = get_args(PatternName)
IorOrderName = Literal["in_order", "random"]

LINES_MAX: Final = 100
"""Lines of an access specification."""
SECTOR_BYTES: Final = 512
RECORD_BYTES_MAX: Final = 1 << 30
STEP_MAX: Final = 1 << 40
DELAY_MS_MAX: Final = 24 * 3600 * 1000


class Stride(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record, then the one `step_records` further on, until each was visited once."""

    step_records: int
    """Distance in records, 1 or more."""


class IozoneStride(Stride, frozen=True, forbid_unknown_fields=True):
    """As IOzone strides: wraps so that some records come twice and some never."""

    step_records: int = 17


class Zipf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Zipf over the whole span; which records are popular is a seeded permutation."""

    theta_hundredths: int
    """The exponent in hundredths, 1..300."""


class HotCold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A hot part at the start of the span, uniform inside each part."""

    hot_percent: int
    """Share of the span that is hot, 1..99 percent."""
    access_percent: int
    """Share of operations that go there, 0..100 percent."""


class PartlySequential(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sequential, with a chance to jump to a random record and go on from there."""

    random_percent: int
    """Chance of a jump, 0..100 percent."""


class AccessLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of an IOMeter access specification."""

    size_bytes: int
    """Size of a transfer, a multiple of 512."""
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
    """Random places are multiples of this; 0 for the sector."""


class Access(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An IOMeter access specification: sizes, mixes, bursts and delays come from its lines."""

    lines: tuple[AccessLine, ...]
    """1..100 lines whose shares add up to 100 percent."""


class Reordered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In order, the part of another task."""

    tasks: int
    """Distance in tasks, 1 or more."""


class IorOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """IOR's orders that have a number."""

    reordered: Reordered


class Ior(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """IOR's layout: segments of one block per task, cut into transfers of the record."""

    block_bytes: int
    """One task's part of a segment, a multiple of the record."""
    order: IorOrderName | IorOrder = "in_order"
    """Order of the transfers, and whose part is visited."""


class TraceOp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operation of a trace."""

    at_ns: int
    """When it was issued, in nanoseconds since the trace began."""
    kind: Literal["read", "write", "sync", "discard"]
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
    """Where it was read from."""
    sha256: str
    """64 hexadecimal digits over its operations, so that a changed file is noticed."""
    operations: int
    """How many, 1 or more."""
    reads: int = 0
    """How many of them read."""
    writes: int = 0
    """How many of them write."""
    syncs: int = 0
    """How many of them sync."""
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
        """How many of the operations discard."""
        return self.operations - self.reads - self.writes - self.syncs


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
    """Of Python only: Rust is given the `trace` itself."""

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
    """Whether operations differ in size, kind and place as the pattern itself says."""
    return pattern_word(pattern) in ("access", "trace", "trace_file")


def unit_bytes(pattern: Pattern, record_bytes: int) -> int:
    """What every offset and length of a workload is a multiple of: the record, unless operations differ in size."""
    if isinstance(pattern, PatternTable) and pattern.access is not None:
        return math.gcd(*(line.size_bytes for line in pattern.access.lines))
    if isinstance(pattern, PatternTable) and pattern.trace_file is not None:
        return pattern.trace_file.unit_bytes
    return record_bytes


class Does(msgspec.Struct, frozen=True):
    """What a workload's operations do; the shares are in percent of them, and add up to 100 but for syncs."""

    read: float
    write: float
    discard: float


def does(pattern: Pattern, read_percent: int, discard_percent: int) -> Does:
    """What operations do: as the pattern itself says, or else as the shares do."""
    if isinstance(pattern, PatternTable) and pattern.access is not None:
        reads = sum(line.share_percent * line.read_percent for line in pattern.access.lines) / 100
        return Does(reads, 100 - reads, 0.0)
    if isinstance(pattern, PatternTable) and pattern.trace_file is not None:
        trace = pattern.trace_file
        counts = (trace.reads, trace.writes, trace.discards)
        return Does(*(100 * count / trace.operations for count in counts))
    if isinstance(pattern, PatternTable) and pattern.trace is not None:
        kinds = [op.kind for op in pattern.trace.operations]
        total = max(len(kinds), 1)
        return Does(*(100 * kinds.count(kind) / total for kind in ("read", "write", "discard")))
    rest = 100 - discard_percent
    return Does(rest * read_percent / 100, rest * (100 - read_percent) / 100, float(discard_percent))


def pattern_problem(pattern: Pattern) -> Problem | None:
    """The first rule that a pattern's own numbers break; None when they break none."""
    if isinstance(pattern, str):
        return None
    if len(pattern.given) != 1:
        return (
            "pattern",
            f"found {pattern_word(pattern)} of {', '.join(pattern.__struct_fields__)}: expected one",
        )
    if pattern.access is not None:
        return _access_problem(pattern.access)
    if pattern.trace is not None:
        return _trace_problem(pattern.trace)
    ranges: list[tuple[str, int, int, int]] = []
    if pattern.trace_file is not None:
        ranges.append(("pattern.trace_file.operations", pattern.trace_file.operations, 1, U64_MAX))
    for name, stride in (("stride", pattern.stride), ("iozone_stride", pattern.iozone_stride)):
        if stride is not None:
            ranges.append((f"pattern.{name}.step_records", stride.step_records, 1, STEP_MAX))
    if pattern.zipf is not None:
        ranges.append(("pattern.zipf.theta_hundredths", pattern.zipf.theta_hundredths, 1, 300))
    if hot := pattern.hot_cold:
        ranges.append(("pattern.hot_cold.hot_percent", hot.hot_percent, 1, 99))
        ranges.append(("pattern.hot_cold.access_percent", hot.access_percent, 0, 100))
    if partly := pattern.partly_sequential:
        ranges.append(("pattern.partly_sequential.random_percent", partly.random_percent, 0, 100))
    if ior := pattern.ior:
        ranges.append(("pattern.ior.block_bytes", ior.block_bytes, SECTOR_BYTES, U64_MAX))
        if isinstance(ior.order, IorOrder):
            ranges.append(("pattern.ior.order.reordered.tasks", ior.order.reordered.tasks, 1, U32_MAX))
    return first_problem(ranges)


def _access_problem(access: Access) -> Problem | None:
    where = "pattern.access.lines"
    if problem := first_problem([(where, len(access.lines), 1, LINES_MAX)]):
        return problem
    for number, line in enumerate(access.lines):
        at = f"{where}[{number}]"
        problem = first_problem(
            [
                (f"{at}.size_bytes", line.size_bytes, SECTOR_BYTES, RECORD_BYTES_MAX),
                (f"{at}.share_percent", line.share_percent, 1, 100),
                (f"{at}.read_percent", line.read_percent, 0, 100),
                (f"{at}.random_percent", line.random_percent, 0, 100),
                (f"{at}.delay_ms", line.delay_ms, 0, DELAY_MS_MAX),
                (f"{at}.burst", line.burst, 1, U32_MAX),
                (f"{at}.align_bytes", line.align_bytes, 0, RECORD_BYTES_MAX),
            ],
            [
                (f"{at}.size_bytes", line.size_bytes, SECTOR_BYTES),
                (f"{at}.align_bytes", line.align_bytes, SECTOR_BYTES),
            ],
        )
        if problem:
            return problem
    total = sum(line.share_percent for line in access.lines)
    return None if total == 100 else (where, f"the shares add up to {total}: expected 100 percent")


def _trace_problem(trace: Trace) -> Problem | None:
    if not trace.operations:
        return "pattern.trace.operations", "none: expected at least one"
    before_ns = 0
    for number, op in enumerate(trace.operations):
        at = f"pattern.trace.operations[{number}]"
        sync = op.kind == "sync"
        length = (0, 0) if sync else (SECTOR_BYTES, RECORD_BYTES_MAX)
        ranges = [
            (f"{at}.at_ns", op.at_ns, before_ns, U64_MAX // 2),
            (f"{at}.offset_bytes", op.offset_bytes, 0, U64_MAX),
            (f"{at}.length_bytes", op.length_bytes, *length),
        ]
        multiples = [
            (f"{at}.offset_bytes", 0 if sync else op.offset_bytes, SECTOR_BYTES),
            (f"{at}.length_bytes", op.length_bytes, SECTOR_BYTES),
        ]
        if problem := first_problem(ranges, multiples):
            return problem
        before_ns = op.at_ns
    return None
