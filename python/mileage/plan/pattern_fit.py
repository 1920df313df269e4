"""How a pattern fits the rest of its workload: its span, its threads, its sizes.

What it models: the rules of the Rust crate `mileage-workload` that need more than the pattern's own numbers.
What it refuses: spans without a record for each thread that has a share of its own; access lines and traces that reach
beyond the span, or beside which shares are given; segments of IOR that do not fill the span.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mileage.plan.pattern import (
    SECTOR_BYTES,
    Access,
    Ior,
    Trace,
    TraceFile,
    is_own_master,
    pattern_word,
)
from mileage.plan.rules import U64_MAX, Multiple, Problem, Range, first_problem

if TYPE_CHECKING:
    from mileage.plan.workload import Workload

RECORDS_MAX: Final = 1 << 40
SHUFFLED_MAX: Final = 1 << 28
"""Records that IOzone's and IOR's own shuffles hold at most."""
_DIVIDES: Final = (
    *("sequential", "shuffled", "backward", "fixed", "stride"),
    *("iozone_shuffle", "iozone_stride", "partly_sequential"),
)
"""Patterns that give each thread a share of the span of its own."""


def span_problem(workload: Workload) -> Problem | None:
    """What is wrong with the span, or with a limit in bytes; None when nothing is. The record is in its range."""
    own = is_own_master(workload.pattern)
    unit = SECTOR_BYTES if own else workload.record_bytes
    multiples: list[Multiple] = [
        ("span_start_bytes", workload.span_start_bytes, unit),
        ("span_bytes", workload.span_bytes, unit),
    ]
    ranges: list[Range] = [
        ("span_start_bytes", workload.span_start_bytes, 0, U64_MAX),
        ("span_bytes", workload.span_bytes, 0, U64_MAX - max(workload.span_start_bytes, 0)),
    ]
    if workload.stop.bytes is not None:
        multiples.append(("stop.bytes", workload.stop.bytes, 1 if own else workload.record_bytes))
        least = workload.threads * (1 if own else workload.record_bytes)
        if workload.stop.bytes < least:
            return "stop.bytes", f"{workload.stop.bytes}: expected {least} or more, a record for each thread"
        ranges.append(("stop.bytes", workload.stop.bytes, least, U64_MAX))
    if problem := first_problem(ranges, multiples):
        return problem
    shared = workload.files == "shared"
    least = workload.threads if pattern_word(workload.pattern) in _DIVIDES and shared else 1
    records = workload.span_bytes // workload.record_bytes
    if least <= records <= RECORDS_MAX:
        return None
    named = f"{least} (threads)" if least > 1 else str(least)
    return "span_bytes", f"{records} records in the span: expected {named} to {RECORDS_MAX}"


def fit_problem(workload: Workload) -> Problem | None:
    """What is wrong with the pattern in this workload; None when nothing is. Its own numbers are in their ranges."""
    pattern = workload.pattern
    if pattern == "iozone_shuffle":
        return _shuffle_problem(workload)
    if isinstance(pattern, str):
        return None
    if pattern.hot_cold is not None and workload.span_bytes // workload.record_bytes < 2:
        return "span_bytes", "1 record in the span: expected 2 or more, hot and cold"
    if pattern.access is not None:
        return _shares_problem(workload) or _access_problem(workload, pattern.access)
    if pattern.ior is not None:
        return _ior_problem(workload, pattern.ior)
    if pattern.trace is not None:
        return _shares_problem(workload) or _trace_problem(workload, pattern.trace)
    if pattern.trace_file is not None:
        return _shares_problem(workload) or _trace_file_problem(workload, pattern.trace_file)
    return None


def _shuffle_problem(workload: Workload) -> Problem | None:
    records = workload.span_bytes // workload.record_bytes
    threads = workload.threads if workload.files == "shared" else 1
    share = -(-records // threads)
    return first_problem([("span_bytes", share, 1, SHUFFLED_MAX)])


def _shares_problem(workload: Workload) -> Problem | None:
    """A pattern that says what each operation does leaves nothing for the shares to say."""
    if workload.read_percent != 100:
        return (
            "read_percent",
            f"{workload.read_percent}: the pattern says what each operation does; leave it out",
        )
    if workload.discard_percent != 0:
        return "discard_percent", f"{workload.discard_percent}: the pattern says what each operation does"
    return None


def _access_problem(workload: Workload, access: Access) -> Problem | None:
    end = workload.span_start_bytes + workload.span_bytes
    for number, line in enumerate(access.lines):
        align = line.align_bytes or SECTOR_BYTES
        first = -(-workload.span_start_bytes // align) * align
        if first + line.size_bytes > end:
            return (
                f"pattern.access.lines[{number}].size_bytes",
                f"{line.size_bytes}: beyond the end of the span",
            )
    largest = max(line.size_bytes for line in access.lines)
    if workload.record_bytes != largest:
        return (
            "record_bytes",
            f"{workload.record_bytes}: expected the largest size of the access lines, {largest}",
        )
    if workload.load.open is not None and any(line.delay_ms for line in access.lines):
        return "load.open", "given beside access lines with delays; leave one of the two out"
    return None


def _ior_problem(workload: Workload, ior: Ior) -> Problem | None:
    tasks = workload.threads if workload.files == "shared" else 1
    segment = ior.block_bytes * tasks
    where = "pattern.ior.block_bytes"
    if problem := first_problem(
        [(where, ior.block_bytes, workload.record_bytes, workload.span_bytes), (where, segment, 0, U64_MAX)],
        [(where, ior.block_bytes, workload.record_bytes), ("span_bytes", workload.span_bytes, segment)],
    ):
        return problem
    if ior.order == "random":
        return first_problem([(where, segment // workload.record_bytes, 1, SHUFFLED_MAX)])
    return None


def _trace_problem(workload: Workload, trace: Trace) -> Problem | None:
    moved = [op for op in trace.operations if op.kind != "sync"]
    end = max((op.offset_bytes + op.length_bytes for op in moved), default=0)
    largest = max([SECTOR_BYTES, *(op.length_bytes for op in trace.operations)])
    syncs = len(trace.operations) - len(moved)
    return _replay_problem(workload, largest, end, syncs, trace.timed)


def _trace_file_problem(workload: Workload, trace: TraceFile) -> Problem | None:
    return _replay_problem(workload, trace.largest_bytes, trace.end_bytes, trace.syncs, trace.timed)


def _replay_problem(workload: Workload, largest: int, end: int, syncs: int, timed: bool) -> Problem | None:
    if end > workload.span_bytes:
        return "span_bytes", f"{workload.span_bytes}: the trace reaches to {end}; give a larger size"
    if workload.record_bytes != largest:
        return "record_bytes", f"{workload.record_bytes}: expected the largest length of the trace, {largest}"
    if syncs and workload.sync == "none":
        return "sync", "none: the trace has syncs; expected fsync or fdatasync"
    load = workload.load
    if timed and (load.open or load.cap or load.think):
        return "load", "the trace's own times say when operations start; leave one of the two out"
    return None
