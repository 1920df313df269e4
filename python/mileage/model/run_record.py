"""The record of one run: operations and bytes by kind, latencies, series, counters.

Scope: `RunRecord` and its parts as `mileage-measure` defines them (`_core.record_schema`; a test compares the
two), and after these what only Python adds to a record: the tests of a set, the tasks of a run of IOR or mdtest.
What it refuses: counts below zero or too large for a table. Members that are not listed here are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from mileage.model.histogram import Histogram
from mileage.model.metrics import Metric
from mileage.model.number_ranges import Count
from mileage.model.operation_kind import UNFINISHED, WAITED_FOR
from mileage.model.write_amplification import write_amplification

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EMPTY: Final = Histogram()


def summed(counters: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counters of several runs, by name."""
    total: dict[str, int] = {}
    for found in counters:
        for name, value in found.items():
            total[name] = total.get(name, 0) + value
    return total


class Series(msgspec.Struct, frozen=True):
    """Activity in each interval of a run; all lists have one entry per interval. The last interval may be cut short."""

    interval_ns: Count
    bytes_read: list[Count]
    bytes_written: list[Count]
    ops: list[Count]
    latency_sum_ns: list[Count]
    latency_p50_ns: list[Count] = []
    """The lists of quantiles are empty in records of early versions; 0 where no operation completed."""
    latency_p99_ns: list[Count] = []
    latency_max_ns: list[Count] = []
    counters: dict[str, list[Count]] = {}
    """Cumulative since the run began, at the end of each interval."""

    @property
    def interval_s(self) -> float:
        """Seconds of an interval."""
        return self.interval_ns / 1e9

    @property
    def bytes_moved(self) -> list[int]:
        """Bytes read and written in each interval."""
        return [sum(pair) for pair in zip(self.bytes_read, self.bytes_written, strict=True)]

    def array(self, name: str) -> NDArray[np.float64]:
        """A list of the series as an array of NumPy, without the last interval, which the end of the run cuts short."""
        import numpy as np

        return np.array(getattr(self, name)[:-1], dtype=np.float64)


class Usage(msgspec.Struct, frozen=True):
    """Resources that a run used on the machine."""

    user_ns: Count = 0
    system_ns: Count = 0
    switches_voluntary: Count = 0
    switches_involuntary: Count = 0
    fill_ns: Count = 0
    """Time of generating what was written."""
    verify_ns: Count = 0
    """Time of comparing what was read."""
    overhead_ps: Count = 0
    """The engine's own cost of an operation on a target that does nothing, in picoseconds."""
    clock: str = ""
    """Empty in virtual time."""
    clock_gained_ns: int = 0
    kernel_workers_ns: Count = 0
    device: dict[str, Count] = {}
    """The device's own counters over the run; empty where there are none."""
    limited_by: str = ""

    @property
    def cpu_ns(self) -> int:
        """Processor time of the workers and of the kernel's helpers, in nanoseconds."""
        return self.user_ns + self.system_ns + self.kernel_workers_ns


class Concurrency(msgspec.Struct, frozen=True):
    """Work of all threads up to the end of the first one."""

    first_done_ns: Count
    first_done_bytes: Count
    first_done_ops: Count = 0


class CompressedBytes(msgspec.Struct, frozen=True):
    """Bytes that compressors made of a sample, each piece on its own."""

    piece_bytes: Count
    zlib_bytes: Count
    zstd_bytes: Count
    lz4_bytes: Count


class Content(msgspec.Struct, frozen=True):
    """Compressibility and duplication of the written data, measured on a sample."""

    sample_bytes: Count
    packed: list[CompressedBytes]
    blocks: Count
    blocks_distinct: Count


class ThreadRecord(msgspec.Struct, frozen=True):
    """Work of one thread."""

    tid: Count | None
    """None in virtual time."""
    ops_read: Count
    ops_written: Count
    bytes_read: Count
    bytes_written: Count
    ops_metadata: Count = 0
    calls: Count = 0
    elapsed_ns: Count = 0
    first_done_bytes: Count | None = None
    first_done_ops: Count | None = None
    computed_ns: Count = 0
    first_done_computed_ns: Count | None = None


class Mismatch(msgspec.Struct, frozen=True):
    """A read that did not return what was written."""

    offset_bytes: Count
    kind: str
    message: str


class OperationLog(msgspec.Struct, frozen=True):
    """State of the log of single operations."""

    written: Count
    lost: Count
    failure: str


class RunError(msgspec.Struct, frozen=True):
    """Error that ended a run before its stop rule."""

    kind: str
    """The operating system's name for it, such as `ENOSPC`."""
    message: str


class ThreadCalls(msgspec.Struct, frozen=True):
    """Calls and bytes of one thread, as counted by the kernel."""

    tid: Count = 0
    rchar: Count = 0
    wchar: Count = 0
    syscr: Count = 0
    syscw: Count = 0
    read_bytes: Count = 0
    """Bytes that this thread made the kernel fetch from storage."""
    write_bytes: Count = 0


class TaskRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """Work of one task of IOR, mdtest or metarates; spans are first and last nanosecond since the common start."""

    task: Count
    host: str
    pid: Count
    bytes: Count
    operations: Count
    clock_offset_ns: int | None = None
    """Offset of the machine's clock against the first task's; None where all share a clock."""
    clock_bound_ns: Count | None = None
    """Maximum error of that offset."""
    open_ns: tuple[int, int] | None = None
    transfer_ns: tuple[int, int] | None = None
    close_ns: tuple[int, int] | None = None
    operate_ns: tuple[int, int] | None = None


class Phases(msgspec.Struct, frozen=True):
    """Each phase of IOR from the earliest start to the latest end of any task, in nanoseconds."""

    open_ns: int
    transfer_ns: int
    close_ns: int
    total_ns: int
    """Opening, and from the first transfer to the last close."""


class TimedBytes(msgspec.Struct, frozen=True):
    """Bytes, and the time that they took."""

    bytes: Count
    ns: Count


class WorkerRates(msgspec.Struct, frozen=True):
    """Rates that IOzone prints for several workers: of each, and of all together."""

    children: list[TimedBytes]
    parent: TimedBytes


class TestResult(msgspec.Struct, frozen=True):
    """One test of a set."""

    name: str
    """Such as "iozone.read"."""
    record: RunRecord
    workers: WorkerRates | None = None
    reported: bool = True
    """False for a pass that IOzone does and does not print."""

    @property
    def test(self) -> str:
        """The name without its family: "read"."""
        return self.name.partition(".")[2]


class SplitLatency(msgspec.Struct, frozen=True, kw_only=True):
    """Latencies by kind of operation, in two parts that add up to those of the record; without syncs."""

    submission: dict[str, Histogram]
    """From submission to the return of the call that handed the operation to the kernel."""
    completion: dict[str, Histogram]
    """From there to completion."""


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one run; for a set of tests the sums, with the record of each test in `results`.

    Bytes, nanoseconds and operations that completed. `elapsed_ns` is the denominator of every rate.
    """

    bytes_read: Count
    bytes_written: Count
    ops_read: Count
    ops_written: Count
    ops_discarded: Count = 0
    bytes_discarded: Count = 0
    ops_metadata: Count = 0
    submit_ns: Count
    """Time from the first submission to the last completion, without the final sync."""
    durable_ns: Count
    """Time from the first submission to the end of the final sync."""
    elapsed_ns: Count
    latency: dict[str, Histogram]
    """Latencies by kind of operation: `read`, `write`, `sync`, `discard`, `metadata`.

    `response` counts from the time when an operation was due, in the open loop.
    """
    split_latency: SplitLatency | None = None
    """Latencies in their parts; None unless they were asked for."""
    series: Series
    warm_up: Series | None = None
    """Series of the operations that began in the warm-up, which no other part of the record counts.

    None without a warm-up, and in records of earlier versions.
    """
    commits: Series | None = None
    """Commits over time, as operations without bytes; None where none were timed."""
    counters: dict[str, Count]
    """Change of each counter over the run, by name; counters explain the result."""
    threads: list[ThreadRecord] = []
    usage: Usage = Usage()
    concurrency: Concurrency | None = None
    content: Content | None = None
    ops_compared: Count = 0
    ops_mismatched: Count = 0
    mismatches: list[Mismatch] = []
    log: OperationLog | None = None
    notes: list[str] = []
    """Notes that a reader needs to interpret the figures, one sentence each."""
    error: RunError | None = None
    interrupted: bool = False
    audit: list[ThreadCalls] | None = None
    """The kernel's own count for each thread of a run on a file; None where it keeps none."""
    results: list[TestResult] | None = None
    """For a set of tests, the result of each."""
    tasks: list[TaskRecord] = []
    """For a run of IOR, mdtest or metarates, the work of each task."""
    phases: Phases | None = None
    """For a run of IOR, its phases."""

    @classmethod
    def from_json(cls, text: str | bytes) -> RunRecord:
        """The record that the core returned."""
        return _DECODER.decode(text)

    @classmethod
    def idle(cls, elapsed_ns: int) -> RunRecord:
        """The record of a run that did no I/O for this many nanoseconds."""
        times = dict.fromkeys(("submit_ns", "durable_ns", "elapsed_ns"), elapsed_ns)
        return msgspec.structs.replace(cls.merge(()), **times)

    @staticmethod
    def merge(records: Sequence[RunRecord]) -> RunRecord:
        """Merge the records of runs that were done one after the other.

        Counts and times add up, latencies merge exactly.

        It has no series, threads or usage: those of different runs have nothing in common.
        """
        sums = {name: sum(getattr(record, name) for record in records) for name in _SUMMED}
        kinds = dict.fromkeys(("read", "write"))
        kinds |= dict.fromkeys(kind for record in records for kind in record.latency)
        return RunRecord(
            **sums,
            latency={kind: Histogram.merge(record.latency_of(kind) for record in records) for kind in kinds},
            series=Series(1, [], [], [], []),
            counters=summed(record.counters for record in records),
            notes=list(dict.fromkeys(note for record in records for note in record.notes)),
        )

    def latency_of(self, *kinds: str) -> Histogram:
        """The latencies of operations of these kinds together; empty for those that did not occur."""
        return Histogram.merge(self.latency[kind] for kind in kinds if kind in self.latency)

    @property
    def service(self) -> Histogram:
        """The latencies of all operations but syncs, from their submission."""
        return self.latency_of(*WAITED_FOR)

    @property
    def judged_latency(self) -> Histogram:
        """The latencies that a run is judged by: in the open loop from when operations were due, else `service`."""
        response = self.latency.get("response", EMPTY)
        return response if response.count else self.service

    def latencies_for(self, metric: Metric) -> Histogram:
        """The latencies that a quantile is of; syncs and commits that never ended count with what they had taken."""
        if metric.latency == "judged":
            return self.judged_latency
        return self.latency_of(metric.latency, f"{UNFINISHED}{metric.latency}")

    def to_the_end(self, values: Sequence[float], after: float = 0) -> list[float]:
        """A list of the series, one value for each whole interval of the run, `after` for those beyond its end.

        The series ends with the last completion: after it a final sync that the run includes moves nothing. An interval
        that the end of the run cuts short has none.
        """
        count = self.elapsed_ns // self.series.interval_ns
        kept = list(values[: max(count, len(values) - 1)])
        return [*kept, *[after] * (count - len(kept))] if kept else kept

    @property
    def operations(self) -> int:
        """Operations that completed: reads, writes, discards and metadata operations; not syncs."""
        return self.ops_read + self.ops_written + self.ops_discarded + self.ops_metadata

    @property
    def bytes_moved(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written

    @property
    def elapsed_s(self) -> float:
        """Seconds of the run."""
        return self.elapsed_ns / 1e9

    @property
    def rate_bytes_per_s(self) -> float:
        """Bytes read and written over elapsed time; 0 for a run that took no time."""
        return self.bytes_moved / self.elapsed_s if self.elapsed_ns else 0.0

    @property
    def ops_per_s(self) -> float:
        """Operations over elapsed time; 0 for a run that took no time."""
        return self.operations / self.elapsed_s if self.elapsed_ns else 0.0

    @property
    def write_amplification(self) -> float | None:
        """Bytes programmed over bytes written; None where the target does not count both."""
        return write_amplification(self.counters)


_SUMMED: Final = (
    *("bytes_read", "bytes_written", "bytes_discarded", "submit_ns", "durable_ns", "elapsed_ns"),
    *("ops_read", "ops_written", "ops_discarded", "ops_metadata", "ops_compared", "ops_mismatched"),
)
_DECODER: Final = msgspec.json.Decoder(RunRecord)
