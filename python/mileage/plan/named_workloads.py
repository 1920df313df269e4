"""The workloads that have a name, and a user's own.

Scope: a workload without its sizes: pattern, shares, and how it is done. `families` holds those that ship
with Mileage; a study's [workload.NAME] tables add their own.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from mileage.model.metrics import MetricWord
from mileage.model.target_kind import Capabilities
from mileage.plan.file_job import Job, Programs
from mileage.plan.io_options import IoOptions, merged, unused_keys
from mileage.plan.pattern import OperationShares, Pattern, does, is_sequential
from mileage.plan.study import StopRule

Kind = Literal["throughput", "iops", "time"]

METRICS_OF: Final[dict[Kind, tuple[MetricWord, ...]]] = {
    "throughput": ("throughput",),
    "iops": ("iops", "p99"),
    "time": ("time",),
}
"""Default metrics of each kind of workload."""


class NamedWorkload(msgspec.Struct, frozen=True):
    """A workload without its sizes."""

    name: str
    """"throughput.write"."""
    title: str
    """Description in a few words."""
    pattern: Pattern
    read_percent: int
    """0..100 percent of the operations."""
    kind: Kind
    """Relevance margin by which it is judged."""
    metrics: tuple[MetricWord, ...]
    """Metrics recorded by default."""
    how: IoOptions = IoOptions()
    """The keys that it sets; `reads` is in `read_percent`."""
    record: str | None = None
    """Its own record, where a study gives none."""
    stop: StopRule | None = None
    """Its own end, where a study gives none."""
    once: bool = False
    """Whether a run ends at the end of its span at the latest."""
    alone: bool = False
    """Whether it runs only when requested by its own name, and a family (`iozone.*`) does not include it."""
    job: type[Job] | None = None
    """For work on files, its family; None for block I/O."""
    programs: Programs | None = None
    """For a program, the commands to run."""

    @property
    def test(self) -> str:
        """Its name within its family: "write"."""
        return self.name.partition(".")[2]

    @property
    def visits_area(self) -> bool:
        """Whether it visits the work area, so that the record must divide its size."""
        return self.job is None or self.job.has_size

    @property
    def has_record(self) -> bool:
        """True when the workload needs a record size (the size of one operation)."""
        return self.job is None or self.job.has_record

    @property
    def does(self) -> OperationShares:
        """Share of each kind of operation, in percent."""
        return does(self.pattern, self.read_percent, self.how.discards or 0)

    @property
    def writes(self) -> bool:
        """Whether it writes or discards at all."""
        return self.does.write > 0 or self.does.discard > 0

    @property
    def reads(self) -> bool:
        """Whether it reads at all."""
        return self.does.read > 0


def as_done(named: NamedWorkload, how: IoOptions) -> NamedWorkload:
    """The workload with the keys of a study's table, which count more than its own."""
    together = merged(named.how, how)
    reads = named.read_percent if together.reads is None else together.reads
    return msgspec.structs.replace(named, read_percent=reads, how=together)


def on_target(named: NamedWorkload, target: Capabilities) -> NamedWorkload:
    """The workload without those of its own keys that a modelled host does not have; a table's are refused elsewhere.

    hdparm's rest and its writes into what it read: a cold cache of a modelled host is written back before it is
    emptied.
    """
    if not target.has_host:
        return named
    without = {key: None for key in unused_keys(target) if getattr(named.how, key) is not None}
    return msgspec.structs.replace(named, how=msgspec.structs.replace(named.how, **without))


def of_pattern(
    name: str, title: str, pattern: Pattern, read_percent: int, how: IoOptions | None = None
) -> NamedWorkload:
    """A workload whose kind and metrics follow from its pattern."""
    kind: Kind = "throughput" if is_sequential(pattern) else "iops"
    return NamedWorkload(name, title, pattern, read_percent, kind, METRICS_OF[kind], how or IoOptions())
