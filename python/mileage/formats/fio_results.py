"""Results of fio's jobs as they are printed, summed from the records of the engine.

Scope: one process, whose files are worked on one after the other, and all processes of a group. Rules of sums are fio's
(stat.c): times of processes side by side are not added, rates of intervals are added, latencies are pooled.
Standard deviations of latencies come from the histogram.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mileage.model.histogram import bounds_of

PERCENTILES: Final = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
DIRECTIONS: Final = ("read", "write", "trim")
_ENDINGS: Final = {"read": "read", "write": "written"}
"""Ends of names of a record's figures."""
_LIMITS: Final = {
    "ns": (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000),
    "us": (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000),
    "ms": (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000),
}
_SCALE: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000}
_LEAST_SHARE: Final = 0.01
"""fio prints a share that is less, and not nothing, as this, in percent."""


@dataclass
class RateSamples:
    """Rates of intervals: what fio prints of them."""

    least: float = 0.0
    most: float = 0.0
    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Sum of the squared distances to the mean."""

    @staticmethod
    def of(values: Sequence[float]) -> RateSamples:
        """The samples of one process."""
        if not values:
            return RateSamples()
        mean = math.fsum(values) / len(values)
        squares = math.fsum((value - mean) ** 2 for value in values)
        return RateSamples(min(values), max(values), len(values), mean, squares)

    def add(self, other: RateSamples) -> None:
        """Add those of a process side by side: rates add up, and fio adds all five figures."""
        self.least += other.least
        self.most += other.most
        self.count += other.count
        self.mean += other.mean
        self.squares += other.squares

    @property
    def deviation(self) -> float:
        """Standard deviation, by the count less one."""
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else 0.0


@dataclass
class Latencies:
    """Latencies of one kind, in nanoseconds."""

    buckets: dict[int, int] = field(default_factory=dict)
    """Counts by bucket."""
    least_ns: int = 0
    most_ns: int = 0
    sum_ns: int = 0

    @staticmethod
    def of(found: dict[str, Any]) -> Latencies:
        """Those of a record."""
        return Latencies(dict(found["buckets"]), found["min_ns"], found["max_ns"], found["sum_ns"])

    def add(self, other: Latencies) -> None:
        """Pool them with others."""
        if not other.buckets:
            return
        self.least_ns = min(self.least_ns, other.least_ns) if self.buckets else other.least_ns
        self.most_ns = max(self.most_ns, other.most_ns)
        self.sum_ns += other.sum_ns
        for bucket, count in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self.buckets.values())

    @property
    def mean_ns(self) -> float:
        """Their mean."""
        return self.sum_ns / self.count if self.count else 0.0

    @property
    def deviation_ns(self) -> float:
        """Their standard deviation, from the histogram."""
        count = self.count
        if count < 2:
            return 0.0
        mean = self.mean_ns
        squares = math.fsum(
            n * (sum(bounds_of(bucket)) / 2 - mean) ** 2 for bucket, n in self.buckets.items()
        )
        return math.sqrt(squares / (count - 1))

    def percentiles(self, wanted: Sequence[float]) -> list[int]:
        """Nearest-rank percentiles in nanoseconds; `wanted` ascending."""
        count, found, passed = self.count, [], 0
        buckets = iter(sorted(self.buckets.items()))
        bucket = 0
        for percent in wanted:
            while passed < max(math.ceil(count * percent / 100), 1):
                step = next(buckets, None)
                if step is None:
                    break
                bucket = step[0]
                passed += step[1]
            found.append(min(max(bounds_of(bucket)[1], self.least_ns), self.most_ns))
        return found


KINDS: Final = ("slat", "clat", "lat")
"""fio's latencies: of submission, of completion from there on, and of both."""


@dataclass
class DirectionResult:
    """Reads or writes of a job."""

    operations: int = 0
    moved: int = 0
    runtime_ms: int = 0
    latencies: dict[str, Latencies] = field(default_factory=lambda: {kind: Latencies() for kind in KINDS})
    """By kind. Without a submission of its own an operation has no slat, and its clat is its lat."""
    kib_per_s: RateSamples = field(default_factory=RateSamples)
    ops_per_s: RateSamples = field(default_factory=RateSamples)

    def add(
        self, moved: int, operations: int, whole: dict[str, Any], parts: Sequence[dict[str, Any]] = ()
    ) -> None:
        """Add the operations and latencies of a record; `parts`: those of submission and of completion."""
        if not operations:
            return
        self.operations += operations
        self.moved += moved
        for kind, found in zip(KINDS, (*parts, whole) if parts else (None, whole, whole), strict=True):
            if found is not None:
                self.latencies[kind].add(Latencies.of(found))

    @staticmethod
    def merged(parts: Sequence[DirectionResult]) -> DirectionResult:
        """All directions as one, as fio adds them: their rates too, since they were done at the same time."""
        whole = DirectionResult()
        for part in parts:
            whole.operations += part.operations
            whole.moved += part.moved
            whole.runtime_ms = max(whole.runtime_ms, part.runtime_ms)
            for kind in KINDS:
                whole.latencies[kind].add(part.latencies[kind])
            whole.kib_per_s.add(part.kib_per_s)
            whole.ops_per_s.add(part.ops_per_s)
        return whole

    @property
    def bytes_per_s(self) -> int:
        """Rate in bytes."""
        return 1000 * self.moved // self.runtime_ms if self.runtime_ms else 0

    @property
    def iops(self) -> float:
        """Rate in operations."""
        return 1000 * self.operations / self.runtime_ms if self.runtime_ms else 0.0


@dataclass
class JobResult:
    """A job as it is printed: one process, or all of a group."""

    name: str
    group: int
    pid: int
    depth: int
    """The depth that was asked for."""
    level: int
    """The depth that was kept."""
    options: dict[str, str]
    jobs: int = 0
    error: int = 0
    error_text: str = ""
    directions: dict[str, DirectionResult] = field(
        default_factory=lambda: {name: DirectionResult() for name in DIRECTIONS}
    )
    sync: Latencies = field(default_factory=Latencies)
    user_ns: int = 0
    system_ns: int = 0
    switches: int = 0
    major_faults: int = 0
    minor_faults: int = 0
    process_ms: int = 0
    """Time of all processes, added."""
    wanted: tuple[float, ...] = PERCENTILES
    """Percentiles, ascending."""
    percentiles_of: tuple[str, ...] = ("clat",)
    """Latencies of which percentiles are printed."""
    description: str = ""
    kinds: tuple[str, ...] = KINDS
    """Latencies that are printed where there are any."""
    is_submitted: bool = True
    """Whether operations are handed on at all: fio's null engine does each at once."""
    is_grouped: bool = True
    """Whether operations are grouped by their latency: fio's engines of calls on files do not."""
    unified: str = "none"
    """What is printed: `none`, each direction; `mixed`, all together; `both`."""

    def shown(self) -> dict[str, DirectionResult]:
        """Results by what they are printed as."""
        apart = self.directions if self.unified != "mixed" else {}
        whole = (
            {"mixed": DirectionResult.merged([*self.directions.values()])} if self.unified != "none" else {}
        )
        return {**apart, **whole}

    def add_process(
        self, records: Sequence[dict[str, Any]], sample_ms: float, *, counts_syncs: bool = True
    ) -> None:
        """Add the records of a process, which came one after the other; rates are those of `sample_ms`."""
        times_ms = dict.fromkeys(DIRECTIONS, 0.0)
        for record in records:
            if "elapsed_ns" not in record:
                continue
            for name, ending in _ENDINGS.items():
                moved, operations = record[f"bytes_{ending}"], record[f"ops_{ending}"]
                if moved:
                    times_ms[name] += record["elapsed_ns"] / 1e6
                self.directions[name].add(moved, operations, *_latencies(record, name))
            if trimmed := record.get("ops_discarded", 0):
                times_ms["trim"] += record["elapsed_ns"] / 1e6
                self.directions["trim"].add(
                    record["bytes_discarded"], trimmed, *_latencies(record, "discard")
                )
            if counts_syncs:
                self.sync.add(Latencies.of(record["latency"]["sync"]))
            usage = record["usage"]
            self.user_ns += usage["user_ns"]
            self.system_ns += usage["system_ns"]
            self.switches += usage["switches_voluntary"] + usage["switches_involuntary"]
        for name, result in self.directions.items():
            if times_ms[name]:
                result.runtime_ms = max(result.runtime_ms, round(times_ms[name]), 1)
        for name, ending in _ENDINGS.items():
            rates = _rates(records, ending, sample_ms)
            result = self.directions[name]
            result.kib_per_s.add(RateSamples.of([moved / 1024 for moved, _ in rates]))
            result.ops_per_s.add(RateSamples.of([ops for _, ops in rates]))

    def percent_cpu(self, used_ns: int) -> float:
        """Processor time in percent of the time of all processes."""
        return used_ns / 1e4 / self.process_ms if self.process_ms else 0.0

    def latency_shares(self) -> dict[str, dict[str, float]]:
        """Percent of operations by their latency of completion, as fio groups them."""
        is_counted = "clat" in self.kinds and self.is_grouped
        results = [one.latencies["clat"] for one in self.directions.values()] if is_counted else ()
        total = sum(result.count for result in results) or 1
        counts = {
            f"latency_{unit}": dict.fromkeys([*map(str, limits), *([">=2000"] if unit == "ms" else [])], 0)
            for unit, limits in _LIMITS.items()
        }
        for result in results:
            for bucket, count in result.buckets.items():
                unit, limit = _group_of(bounds_of(bucket)[0])
                counts[f"latency_{unit}"][limit] += count
        return {
            unit: {
                limit: max(100 * count / total, _LEAST_SHARE) if count else 0.0
                for limit, count in own.items()
            }
            for unit, own in counts.items()
        }


def _latencies(record: dict[str, Any], kind: str) -> tuple[dict[str, Any], Sequence[dict[str, Any]]]:
    """The latencies of a kind of operation, and their parts where they were split."""
    split = record.get("split_latency")
    return record["latency"][kind], [
        split[part][kind] for part in ("submission", "completion")
    ] if split else ()


def _rates(records: Sequence[dict[str, Any]], ending: str, sample_ms: float) -> list[tuple[float, float]]:
    """Bytes and operations per second of the whole intervals in which something moved, as fio takes them.

    Records come one after the other, so that an interval may have the end of one and the beginning of the next.
    """
    used = [record for record in records if record.get(f"bytes_{ending}")]
    if not used:
        return []
    each_ns = used[0]["series"]["interval_ns"]
    width = max(round(sample_ms * 1e6 / each_ns), 1)
    seconds = width * each_ns / 1e9
    sums: dict[int, list[float]] = {}
    begin_ns = 0.0
    for record in used:
        size = record[f"bytes_{ending}"] / record[f"ops_{ending}"]
        own_ns = record["series"]["interval_ns"]
        for at, moved in enumerate(record["series"][f"bytes_{ending}"]):
            # The middle of an interval: its ends are those of the engine's clock.
            place = int((begin_ns + (at + 0.5) * own_ns) / (width * each_ns))
            both = sums.setdefault(place, [0.0, 0.0])
            both[0] += moved
            both[1] += moved / size
        begin_ns += record["elapsed_ns"]
    whole = round(begin_ns / each_ns) // width
    return [
        (moved / seconds, operations / seconds)
        for place, (moved, operations) in sorted(sums.items())
        if place < whole and moved
    ]


def _group_of(value_ns: int) -> tuple[str, str]:
    for unit, limits in _LIMITS.items():
        for limit in limits:
            if value_ns < limit * _SCALE[unit] and not (unit == "ns" and value_ns >= 1000):
                return unit, str(limit)
    return "ms", ">=2000"


def group_rates(results: Sequence[JobResult]) -> dict[tuple[int, str], int]:
    """Bytes per second of each group and direction: all bytes over the longest time."""
    moved: dict[tuple[int, str], int] = {}
    longest: dict[tuple[int, str], int] = {}
    for result in results:
        for name, own in result.shown().items():
            key = (result.group, name)
            moved[key] = moved.get(key, 0) + own.moved
            longest[key] = max(longest.get(key, 0), own.runtime_ms)
    return {key: 1000 * moved[key] // longest[key] if longest[key] else 0 for key in moved}
