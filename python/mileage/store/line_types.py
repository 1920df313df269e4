"""What each kind of line in a journal holds, as types: a line that was edited into other valid JSON does not fit.

What it models: every member that a reader of the journal uses. Members that nobody reads are not looked at, and
members that an earlier version did not write may be missing.
What it refuses: counts below zero or too large for a table, times that are none.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec

COUNT_MAX: Final = (1 << 63) - 1
Count = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)]
Number = Annotated[int, msgspec.Meta(ge=1, le=1 << 31)]
Figure = Annotated[float, msgspec.Meta(ge=0, le=1e24)]
Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
SealedFile = Annotated[str, msgspec.Meta(pattern=r"^(plan\.(json|toml)|environment/(raw/)?[^/\x00]+\.json)$")]
Time = datetime


class Series(msgspec.Struct):
    """What a run did in each interval."""

    interval_ns: Count
    bytes_read: list[Count]
    bytes_written: list[Count]
    ops: list[Count]
    latency_sum_ns: list[Count]
    counters: dict[str, list[Count]] = {}
    latency_p50_ns: list[Count | None] = []
    latency_p99_ns: list[Count | None] = []
    latency_max_ns: list[Count | None] = []


class ImportedSeries(msgspec.Struct):
    """What another tool says of each interval; None where it does not say."""

    interval_ns: Count
    bytes_read: list[Count | None]
    bytes_written: list[Count | None]
    ops: list[Count | None]
    latency_sum_ns: list[Count | None]
    counters: dict[str, list[Count]] = {}
    latency_p50_ns: list[Count | None] = []
    latency_p99_ns: list[Count | None] = []
    latency_max_ns: list[Count | None] = []


class Histogram(msgspec.Struct):
    """Latencies by bucket."""

    count: Count
    sum_ns: Annotated[int, msgspec.Meta(ge=0)]
    min_ns: Count
    max_ns: Count
    buckets: list[tuple[Count, Count]]


class Usage(msgspec.Struct):
    """What a run cost the machine."""

    user_ns: Count = 0
    system_ns: Count = 0
    kernel_workers_ns: Count = 0
    fill_ns: Count = 0
    verify_ns: Count = 0
    overhead_ps: Count = 0
    clock: str = ""
    limited_by: str = ""
    device: dict[str, Count] = {}


class Concurrency(msgspec.Struct):
    """What was done when the first thread ended."""

    first_done_ns: Count
    first_done_bytes: Count


class Packed(msgspec.Struct):
    """What compressors made of a sample."""

    zlib_bytes: Count
    zstd_bytes: Count
    lz4_bytes: Count


class Sample(msgspec.Struct):
    """What was really written."""

    sample_bytes: Count
    packed: list[Packed]
    blocks: Count
    blocks_distinct: Count


class Thread(msgspec.Struct):
    """One thread's calls, as the audit counts them."""

    read_bytes: Count = 0


class Record(msgspec.Struct):
    """What one run left behind; of a set of tests, with the record of each in `results`."""

    bytes_read: Count
    bytes_written: Count
    ops_read: Count
    ops_written: Count
    submit_ns: Count
    durable_ns: Count
    elapsed_ns: Count
    latency: dict[str, Histogram]
    series: Series
    counters: dict[str, Count]
    bytes_discarded: Count = 0
    ops_discarded: Count = 0
    ops_metadata: Count = 0
    ops_compared: Count = 0
    usage: Usage = msgspec.field(default_factory=Usage)
    concurrency: Concurrency | None = None
    content: Sample | None = None
    audit: list[Thread] | None = None
    notes: list[str] = []
    results: list[Result] | None = None


class Result(msgspec.Struct):
    """One test of a set."""

    name: str
    record: Record


class Reported(msgspec.Struct):
    """The figures that another tool printed."""

    rate_bytes_per_s: Figure | None
    ops_per_s: Figure | None
    latency_p99_ns: Figure | None
    elapsed_s: Figure | None


class ImportedRecord(msgspec.Struct):
    """What another tool says of a run."""

    reported: Reported
    bytes_read: Count | None
    bytes_written: Count | None
    ops_read: Count | None
    ops_written: Count | None
    quantiles_ns: dict[str, Figure]
    latency_sum_ns: Figure | None
    outstanding: Count | None
    device_bytes: Count | None
    latency: dict[str, Histogram]
    series: ImportedSeries
    counters: dict[str, Count]
    notes: list[str]
    error: str | None
    file: str
    line: Count
    printed_names: list[str] = []
    printed_figures: list[float] = []
    submission_counted: bool = True


class _Place(msgspec.Struct, kw_only=True):
    """Where in the plan a line belongs."""

    session: str = ""
    cycle: Number
    arm: Literal["torture", "sham"]
    stage: str


class _AnyRun(_Place, kw_only=True):
    run: Annotated[int, msgspec.Meta(ge=0, le=1 << 31)]
    role: Literal["measure", "torture", "prepare", "idle", "reset"]
    block: Number
    measure: str
    cell: str
    metrics: list[Literal["throughput", "iops", "p99", "time"]]
    levels: dict[str, str] = {}
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0


class Run(_AnyRun, kw_only=True):
    """A finished run."""

    started: Time
    finished: Time
    record: Record
    watch: dict[str, int] = {}


class ImportedRun(_AnyRun, kw_only=True):
    """A run that another tool did."""

    record: ImportedRecord


class Study(msgspec.Struct):
    """The first line of a journal."""

    format: int
    plan: str
    mileage: str
    command: str
    started: Time | None
    imported_at: Time | None = None
    files: dict[SealedFile, Hash] = {}


class Files(msgspec.Struct):
    """The checksums of files that are about to be written."""

    files: dict[SealedFile, Hash]


class _Stage(_Place, kw_only=True):
    state: str | None = None
    states: dict[str, str] | None = None
    left_out: Count = 0
    at: Time


class _Dnf(Run, kw_only=True):
    cause: str
    message: str
    left_out: Count


class _Failed(msgspec.Struct):
    run: Count
    cause: str
    message: str


class _Look(_Place, kw_only=True):
    table: str
    setting: Count
    times: Count
    rule: str
    enough: bool
    half_width: float | None = None
    detectable: float | None = None
    precision: float | None = None


class _Point(_Place, kw_only=True):
    run: Count
    states: dict[str, str]


class _Rewrite(_Place, kw_only=True):
    target: Count
    done: bool


class _Session(msgspec.Struct):
    session: str
    finished: Time


class _End(msgspec.Struct):
    finished: str


class _Accepted(msgspec.Struct):
    session: str
    changes: list[str]
    was: dict[str, str] = {}
    now: dict[str, str] = {}


class _Environment(msgspec.Struct):
    when: str
    changes: list[str]


class _Calibrated(msgspec.Struct):
    cell: str
    run: Count
    factor: Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)]
    trials: list[Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)]]


class _Unread(msgspec.Struct):
    line: Count
    text: str
    why: str


class _File(msgspec.Struct):
    path: str
    tool: str
    began: str | None
    command: str | None
    machine: dict[str, str]
    unread: list[_Unread]
    lost: list[str]


LINE_TYPES: Final[dict[str, Any]] = {
    "study": Study,
    "run": Run,
    "files": Files,
    "stage": _Stage,
    "dnf": _Dnf,
    "failed": _Failed,
    "look": _Look,
    "point": _Point,
    "rewrite": _Rewrite,
    "session": _Session,
    "end": _End,
    "accepted": _Accepted,
    "environment": _Environment,
    "calibrated": _Calibrated,
    "file": _File,
}
"""The type of each kind of line that a reader uses; lines of other kinds (`ranks`, `merged`) only tell people."""
