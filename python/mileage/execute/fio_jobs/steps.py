"""Operations of a fio job that transfer nothing: cpuio's cycles, and files made, looked up and removed.

Scope: the interpreter does and times them. A latency has some 0.3 us of the interpreter in it. As fio, the busy part of
a cycle of cpuio is a read of no bytes; filecreate, filestat and filedelete do one call for each file and pass, and
count the blocks of the file as if they were transferred. A file that was made is closed at once.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from typing import Any, Final

from mileage.execute.fio_jobs.layout import Targets
from mileage.execute.fio_jobs.link import ParentLink
from mileage.model.histogram import bucket_of
from mileage.plan.fio_work import FioTask, FioWork
from mileage.targets.door import WorkPath

_INTERVAL_NS: Final = 10_000_000


def _create(target: WorkPath) -> None:
    os.close(target.open(os.O_RDWR | os.O_CREAT, 0o600))


_CALLS: Final[dict[FioTask, Callable[[WorkPath], object]]] = {
    "create": _create,
    "stat": lambda target: os.stat(target.path),
    "lstat": lambda target: os.lstat(target.path),
    "delete": lambda target: target.remove(),
}


class StepTally:
    """Operations of one direction, as a record of the engine."""

    def __init__(self, *, reads: bool) -> None:
        self._reads = reads
        self._began_ns = time.monotonic_ns()
        self._before = resource.getrusage(resource.RUSAGE_SELF)
        self._operations = self._moved = self._sum_ns = self._least_ns = self._most_ns = 0
        self._buckets: dict[int, int] = {}
        self._series: dict[str, list[int]] = {"moved": [], "ops": [], "latency_sum_ns": []}

    def add(self, start_ns: int, end_ns: int, operations: int, moved: int) -> None:
        """Count one call that stands for these operations."""
        latency_ns = end_ns - start_ns
        self._operations += operations
        self._moved += moved
        self._sum_ns += latency_ns
        self._least_ns = min(self._least_ns or latency_ns, latency_ns)
        self._most_ns = max(self._most_ns, latency_ns)
        bucket = bucket_of(latency_ns)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1
        at = (end_ns - self._began_ns) // _INTERVAL_NS
        for key, figure in (("moved", moved), ("ops", operations), ("latency_sum_ns", latency_ns)):
            own = self._series[key]
            own += [0] * (at + 1 - len(own))
            own[at] += figure

    def record(self) -> dict[str, Any]:
        """What was done so far."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        none = {"count": 0, "sum_ns": 0, "min_ns": 0, "max_ns": 0, "buckets": []}
        latency = {
            "count": sum(self._buckets.values()),
            "sum_ns": self._sum_ns,
            "min_ns": self._least_ns,
            "max_ns": self._most_ns,
            "buckets": sorted(self._buckets.items()),
        }
        count, moved, series = self._operations, self._moved, self._series
        rest = [0] * len(series["moved"])
        return {
            "elapsed_ns": time.monotonic_ns() - self._began_ns,
            "ops_read": count * self._reads,
            "ops_written": count * (not self._reads),
            "bytes_read": moved * self._reads,
            "bytes_written": moved * (not self._reads),
            "latency": {
                "read": latency if self._reads else none,
                "write": none if self._reads else latency,
                "sync": none,
            },
            "series": {
                "interval_ns": _INTERVAL_NS,
                "bytes_read": series["moved"] if self._reads else rest,
                "bytes_written": rest if self._reads else series["moved"],
                "ops": series["ops"],
                "latency_sum_ns": series["latency_sum_ns"],
            },
            "usage": {
                "user_ns": round(1e9 * (usage.ru_utime - self._before.ru_utime)),
                "system_ns": round(1e9 * (usage.ru_stime - self._before.ru_stime)),
                "switches_voluntary": usage.ru_nvcsw - self._before.ru_nvcsw,
                "switches_involuntary": usage.ru_nivcsw - self._before.ru_nivcsw,
            },
        }


def unwritten(operations: int, record_bytes: int) -> dict[str, Any]:
    """Writes that verify_only omits: as in fio they are counted, but have no time and no latency."""
    counts = {"ops_written": operations, "bytes_written": operations * record_bytes, "elapsed_ns": 0}
    return {**StepTally(reads=False).record(), **counts}


def use_processor(work: FioWork, parent: ParentLink) -> None:
    """Work for the length of a cycle and rest in proportion, until the time is over."""
    tally = StepTally(reads=True)
    until_ns = time.monotonic_ns() + work.limit_ns
    busy_ns = work.busy_ns
    rest_ns = busy_ns * (100 - work.load_percent) // work.load_percent
    while not parent.came and (now_ns := time.monotonic_ns()) < until_ns:
        while time.monotonic_ns() < now_ns + busy_ns:
            pass
        tally.add(now_ns, time.monotonic_ns(), 1, 0)
        parent.status["records"] = [tally.record()]
        parent.sleep(max(now_ns + busy_ns + rest_ns - time.monotonic_ns(), 0) / 1e9)
    parent.status["records"] = [tally.record()]


def handle_files(work: FioWork, targets: Targets, parent: ParentLink) -> None:
    """Make, look up or remove the files, pass after pass. Raises OSError with what was done in the results."""
    call = _CALLS[work.does]
    tally = StepTally(reads=work.reads == 100)
    record = work.workload.record_bytes
    try:
        for _ in range(work.loops):
            for file in work.files:
                if parent.came:
                    return
                start_ns = time.monotonic_ns()
                call(targets[file.path])
                tally.add(start_ns, time.monotonic_ns(), file.span // record, file.span)
                if parent.is_asked():
                    parent.status["records"] = [tally.record()]
                    parent.answer()
    finally:
        parent.status["records"] = [tally.record()]
