"""The rules of a workload are the core's: what Python states at its types, and of traces in short, agrees with them."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from mileage import _core
from mileage.formats.trace import trace_file
from mileage.plan.content import ContentTable, IozoneDedup, MixedContent, SampledVerification, VerifyTable
from mileage.plan.conversion import is_in_range
from mileage.plan.load_model import Cap, Load, Open, Ramp, Think
from mileage.plan.pattern import (
    PATTERN_NAMES,
    Access,
    AccessLine,
    HotCold,
    Ior,
    IorOrder,
    IozoneStride,
    PartlySequential,
    PatternTable,
    ReorderedPart,
    Stride,
    Trace,
    TraceOp,
    Zipf,
)
from mileage.plan.workload import Stop, Workload


def number(*edges: int) -> st.SearchStrategy[int]:
    """The edges of a range and their neighbours, ordinary values, and what no field can hold."""
    near = {value + step for value in edges for step in (-1, 0, 1)}
    return st.sampled_from(sorted(near)) | st.sampled_from([1, 2, 17, 100]) | st.just(2**64)


def mostly(valid: st.SearchStrategy[object], other: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Mostly values that are in range, so that a workload with one wrong field is as likely as a valid one."""
    return st.integers(0, 19).flatmap(lambda dice: other if dice == 0 else valid)


percent = mostly(st.integers(0, 100), number(0, 100, 255))
count = mostly(st.integers(1, 20), number(0, 1))
size = mostly(st.sampled_from([512, 4096, 8192, 65536]), number(0, 512, 2**32))
u32 = mostly(st.integers(0, 20), number(0, 2**32))
lines = st.lists(
    st.builds(
        AccessLine,
        size_bytes=size,
        share_percent=mostly(st.sampled_from([20, 30, 50, 100]), number(0, 1, 100)),
        read_percent=percent,
        random_percent=percent,
        delay_ms=u32,
        burst=count,
        align_bytes=mostly(st.sampled_from([0, 512, 4096]), number(0, 512)),
    ),
    max_size=3,
).map(tuple)
whole_lines = st.sampled_from(
    [
        (AccessLine(4096, 100, 67, 100),),
        (AccessLine(512, 50, 0, 0, burst=4, delay_ms=3), AccessLine(65536, 50, 100, 50, align_bytes=8192)),
    ]
)
operation = st.builds(
    TraceOp,
    at_ns=st.integers(0, 3),
    kind=st.sampled_from(["read", "write", "sync", "discard"]),
    offset_bytes=mostly(st.sampled_from([0, 512, 4096, 1 << 20]), number(0, 4096, 2**64)),
    length_bytes=mostly(st.sampled_from([0, 512, 4096, 8192]), number(0, 512, 2**32)),
)
traces = st.builds(Trace, operations=st.lists(operation, max_size=3).map(tuple), timed=st.booleans())
tables = st.one_of(
    st.builds(PatternTable, stride=st.builds(Stride, count)),
    st.builds(PatternTable, iozone_stride=st.builds(IozoneStride, count)),
    st.builds(PatternTable, zipf=st.builds(Zipf, mostly(st.integers(1, 300), number(1, 300)))),
    st.builds(
        PatternTable, hot_cold=st.builds(HotCold, mostly(st.integers(1, 99), number(0, 1, 99, 100)), percent)
    ),
    st.builds(PatternTable, partly_sequential=st.builds(PartlySequential, percent)),
    st.builds(PatternTable, access=st.builds(Access, mostly(whole_lines, lines))),
    st.builds(
        PatternTable,
        ior=st.builds(
            Ior,
            mostly(st.sampled_from([65536, 1 << 20]), size),
            st.sampled_from(["in_order", "random"]) | st.builds(IorOrder, st.builds(ReorderedPart, count)),
        ),
    ),
    st.builds(PatternTable, trace=traces),
    st.sampled_from([PatternTable(), PatternTable(stride=Stride(1), zipf=Zipf(100))]),
)
patterns = st.sampled_from(PATTERN_NAMES) | tables
contents = st.one_of(
    st.sampled_from(
        ["incompressible", "zeros", "fio_scrambled", "fio_constant", "iozone_default", "iozone_diagnostic"]
    ),
    st.builds(ContentTable, mixed=st.builds(MixedContent, percent, percent)),
    st.builds(ContentTable, iozone_dedup=st.builds(IozoneDedup, percent, percent, percent)),
)
rate = mostly(st.integers(1, 10**6), number(0, 1, 2**64))
ramps = st.none() | st.builds(Ramp, rate, rate)
opens = st.none() | st.builds(Open, rate, st.sampled_from(["constant", "poisson"]), ramps)
caps = st.one_of(st.none(), st.builds(Cap, rate), st.builds(Cap, st.none(), rate))
loads = mostly(st.just(Load()), st.builds(Load, opens, caps, st.none() | st.builds(Think, rate, rate), u32))
verifies = st.sampled_from(["off", "all"]) | st.builds(VerifyTable, st.builds(SampledVerification, count))
limit = st.none() | mostly(st.sampled_from([1 << 20, 1 << 21]), number(0, 512, 2**63, 2**64))
stops = mostly(st.builds(Stop, st.just(1 << 20)), st.builds(Stop, limit, limit, limit))

drawn = st.builds(
    Workload,
    pattern=mostly(st.just("random"), patterns) | patterns,
    read_percent=percent,
    record_bytes=size,
    span_start_bytes=mostly(st.sampled_from([0, 1 << 20]), number(0, 512, 2**63, 2**64)),
    span_bytes=mostly(st.sampled_from([1 << 20, 1 << 30]), number(0, 4096, 1 << 45, 2**64)),
    depth=mostly(st.integers(1, 64), number(1, 4096)),
    threads=mostly(st.integers(1, 16), number(1, 1024)),
    stop=stops,
    seed=mostly(st.integers(0, 2**64 - 1), number(0, 2**64)),
    content=mostly(st.just("incompressible"), contents),
    sync=st.sampled_from(["none", "fsync", "fdatasync", "fua"]),
    sync_timed=st.booleans(),
    sync_every=mostly(st.integers(0, 4), number(0, 2**64)),
    discard_percent=mostly(st.just(0), number(0, 100, 255)),
    files=st.sampled_from(["shared", "per_thread"]),
    load=loads,
    verify=mostly(st.just("off"), verifies),
    generation=mostly(st.just(0), u32),
)


def coherent(workload: Workload) -> Workload:
    """The workload with what its pattern asks of the other fields, so that valid ones are drawn of each pattern."""
    pattern = workload.pattern
    if isinstance(pattern, str) or len(pattern.given) != 1:
        return workload
    change = functools.partial(msgspec.structs.replace, workload)
    sizes = [line.size_bytes for line in pattern.access.lines] if pattern.access else []
    sizes += [op.length_bytes for op in pattern.trace.operations] if pattern.trace else []
    if pattern.access or pattern.trace:
        largest = max([512, *sizes])
        return change(read_percent=100, discard_percent=0, record_bytes=largest, sync="fsync", load=Load())
    if pattern.ior:
        record = workload.record_bytes
        segment = max(
            pattern.ior.block_bytes * (1 if workload.files == "per_thread" else workload.threads), 1
        )
        if 512 <= record <= pattern.ior.block_bytes <= 1 << 21:
            return change(span_bytes=4 * segment, span_start_bytes=0)
    return workload


workloads = drawn | drawn.map(coherent)


@settings(max_examples=300, deadline=None)
@given(tables.filter(lambda table: len(table.given) == 1 and not (table.access or table.trace or table.ior)))
def test_the_ranges_of_a_pattern_are_those_of_the_core(table: PatternTable) -> None:
    problem = Workload(table, 100, 4096, 0, 1 << 30, 1, 1, Stop(operations=1), 0).problem()
    assert is_in_range(table) == (problem is None), problem


moved = st.builds(
    TraceOp,
    at_ns=st.just(0),
    kind=st.sampled_from(["read", "write", "discard"]),
    offset_bytes=st.integers(0, 64).map(lambda sectors: 512 * sectors),
    length_bytes=st.integers(1, 16).map(lambda sectors: 512 * sectors),
)
replays = st.builds(
    Workload,
    pattern=st.lists(moved | st.just(TraceOp(0, "sync", 0, 0)), min_size=1, max_size=5).map(
        lambda found: PatternTable(trace=Trace(tuple(found), timed=len(found) % 2 == 0))
    ),
    read_percent=mostly(st.just(100), percent),
    record_bytes=st.integers(1, 16).map(lambda sectors: 512 * sectors),
    span_start_bytes=st.just(0),
    span_bytes=st.sampled_from([8192, 16384, 32768, 65536]),
    depth=st.just(1),
    threads=st.integers(1, 3),
    stop=st.just(Stop()),
    seed=st.just(0),
    sync=st.sampled_from(["none", "fsync"]),
    discard_percent=mostly(st.just(0), percent),
    load=mostly(st.just(Load()), st.just(Load(think=Think(1)))),
)


@settings(max_examples=600, deadline=None)
@given(replays, st.booleans())
def test_a_trace_in_short_is_accepted_when_the_trace_is(workload: Workload, fits: bool) -> None:
    assert isinstance(workload.pattern, PatternTable)
    assert workload.pattern.trace is not None
    trace = workload.pattern.trace
    if fits:
        largest = max([512, *(op.length_bytes for op in trace.operations)])
        workload = msgspec.structs.replace(workload, record_bytes=largest)
    file = msgspec.structs.replace(trace_file(Path("t.csv"), trace.operations), timed=trace.timed)
    in_short = msgspec.structs.replace(workload, pattern=PatternTable(trace_file=file))
    whole, short = workload.problem(), in_short.problem()
    assert (whole is None) == (short is None), (whole, short)


@settings(max_examples=300, deadline=None)
@given(workloads.filter(lambda workload: isinstance(workload.pattern, str) or is_in_range(workload.pattern)))
def test_the_json_reads_back(workload: Workload) -> None:
    text = workload.to_json()
    assert msgspec.json.decode(text, type=Workload) == workload


def test_what_python_names_rust_knows() -> None:
    """A field or a word that only one side has is an error of reading, not a refusal."""
    for pattern in (*PATTERN_NAMES, PatternTable(stride=Stride(1)), PatternTable(ior=Ior(4096))):
        workload = Workload(pattern, 0, 4096, 0, 1 << 20, 1, 1, Stop(operations=1), 0)
        _core.check_workload(workload.to_json())
