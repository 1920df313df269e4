"""The action of a planned run: I/O, work on files, a pause, or a reset of its target.

Scope: a union of values that know their bytes, whether they write, and how long they take at assumed rates;
`mileage.execute.run` has one row for each that performs it. A new family of work on files is a row of `FileJob`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, get_args

import msgspec

from mileage.plan.external_program import Program
from mileage.plan.file_job import (
    ASSUMED_OPS_PER_S,
    ASSUMED_RATE_BYTES_PER_S,
    PAGE_BYTES,
    SIMULATED_PAGES_PER_S,
    Job,
)
from mileage.plan.io_options import Reach
from mileage.plan.iozone_suite import Suite
from mileage.plan.name_operations import Names
from mileage.plan.page_cache_state import Caching
from mileage.plan.pattern import is_sequential
from mileage.plan.task_jobs import IorRun, MdtestRun, MetaratesRun
from mileage.plan.workload import Workload

FileJob = Suite | Names | IorRun | MdtestRun | MetaratesRun | Program
FILE_JOBS: Final[tuple[type[Job], ...]] = get_args(FileJob)


class Io(msgspec.Struct, frozen=True):
    """A workload on the target itself."""

    workload: Workload
    reach: Reach | None
    power_cut: bool = False
    """Whether the power of the virtual drive is cut at the end."""

    @property
    def bytes_read(self) -> int:
        """Bytes that it reads, at most."""
        return self._bytes(self.workload.does.read)

    @property
    def bytes_written(self) -> int:
        """Bytes that it writes, at most."""
        return self._bytes(self.workload.does.write)

    @property
    def writes(self) -> bool:
        """Whether it changes the content of its target."""
        return self.workload.changes

    @property
    def caching(self) -> Caching | None:
        """State of the page cache during the run; None for a virtual drive."""
        return self.reach.caching if self.reach is not None else None

    @property
    def workers(self) -> int:
        """Processes that do it together and may lie on several machines."""
        return self.reach.processes if self.reach is not None else 1

    def time_s(self, before: Sequence[float], *, virtual: bool) -> float:
        """The user's time at the assumed rates, in seconds."""
        work, count = self.workload, self._operations
        if virtual:
            return count * -(-int(work.mean_bytes) // PAGE_BYTES) / SIMULATED_PAGES_PER_S
        time_s = count / self._ops_per_s
        settled_s = self.reach.settle_ns / 1e9 if self.reach is not None else 0.0
        return settled_s + (time_s if work.stop.time_ns is None else min(time_s, work.stop.time_ns / 1e9))

    def _bytes(self, percent: float) -> int:
        return int(self._operations * self.workload.mean_bytes * percent / 100)

    @property
    def _operations(self) -> int:
        """Operations of a run: its limit, or what the assumed rate does in its time."""
        limit = self.workload.operations
        return limit if limit is not None else int((self.workload.stop.time_ns or 0) / 1e9 * self._ops_per_s)

    @property
    def _ops_per_s(self) -> float:
        by_bytes = ASSUMED_RATE_BYTES_PER_S / max(self.workload.mean_bytes, 1.0)
        return by_bytes if is_sequential(self.workload.pattern) else min(by_bytes, ASSUMED_OPS_PER_S)


class _Still(msgspec.Struct, frozen=True):
    """An action that moves no bytes."""

    bytes_read: ClassVar[int] = 0
    bytes_written: ClassVar[int] = 0
    writes: ClassVar[bool] = False
    caching: ClassVar[Caching | None] = None
    workers: ClassVar[int] = 1

    def time_s(self, before: Sequence[float], *, virtual: bool) -> float:
        """The user's time, in seconds."""
        return 0.0


class Idle(_Still, frozen=True):
    """Leaving the target alone."""

    idle_ns: int
    """Nanoseconds of the target's own time."""

    def time_s(self, before: Sequence[float], *, virtual: bool) -> float:
        """The user's time, in seconds; on a virtual drive a pause takes none."""
        return 0.0 if virtual else self.idle_ns / 1e9


class Mirror(_Still, frozen=True):
    """Leaving the target alone for as long as another run took."""

    run: int
    """Index of that run, which comes before."""

    def time_s(self, before: Sequence[float], *, virtual: bool) -> float:
        """The user's time, in seconds; on a virtual drive a pause takes none."""
        return 0.0 if virtual else before[self.run]


class Reset(_Still, frozen=True):
    """Bringing the target back."""

    how: str
    """"trim", "purge" or "remount"."""


Action = Io | FileJob | Idle | Mirror | Reset
