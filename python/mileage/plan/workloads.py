"""The workloads that have a name.

What it models: `throughput.*` (sequential) and `iops.*` (random and shuffled), with what each is measured by.
What it refuses: names that are planned and not built yet, by name; all others, with the closest known one.
"""

from __future__ import annotations

import difflib
from typing import Final, Literal

import msgspec

from mileage.errors import Refused
from mileage.plan.workload import Pattern

Metric = Literal["throughput", "iops", "p99"]

METRICS: Final[dict[Metric, str]] = {
    "throughput": "rate_bytes_per_s",
    "iops": "ops_per_s",
    "p99": "latency_p99_ns",
}
"""The words of a study file, and the names that samples carry; the unit is last."""


class NamedWorkload(msgspec.Struct, frozen=True):
    """A workload without its sizes."""

    name: str
    """"throughput.write"."""
    title: str
    """What it does, in a few words."""
    pattern: Pattern
    read_percent: int
    """0..100 percent of the operations."""
    kind: Literal["throughput", "iops"]
    """Which relevance margin it is judged by."""
    metrics: tuple[Metric, ...]
    """What is recorded of it unless a study says otherwise."""

    @property
    def writes(self) -> bool:
        """Whether it writes at all."""
        return self.read_percent < 100


def _throughput(name: str, title: str, read_percent: int) -> NamedWorkload:
    return NamedWorkload(name, title, "sequential", read_percent, "throughput", ("throughput",))


def _iops(name: str, title: str, pattern: Pattern, read_percent: int) -> NamedWorkload:
    return NamedWorkload(name, title, pattern, read_percent, "iops", ("iops", "p99"))


WORKLOADS: Final = {
    workload.name: workload
    for workload in (
        _throughput("throughput.write", "sequential writes", 0),
        _throughput("throughput.read", "sequential reads", 100),
        _iops("iops.random_write", "writes at uniformly random places", "random", 0),
        _iops("iops.random_read", "reads at uniformly random places", "random", 100),
        _iops("iops.shuffled_write", "writes to every record once, in random order", "shuffled", 0),
        _iops("iops.shuffled_read", "reads of every record once, in random order", "shuffled", 100),
    )
}
"""Every workload that this version can do, by name, in the order in which they are listed."""

FILE_FAMILIES: Final = ("iozone", "metarates", "ior", "mdtest")
"""Families of file workloads: they need a file system. Not built yet."""

LATER_FAMILIES: Final = ("iometer", "hdparm", "dd")
"""Families that do not need a file system. Not built yet."""

_FAMILIES: Final = tuple(dict.fromkeys(name.partition(".")[0] for name in WORKLOADS))


def find_workloads(name: str, target: str, where: str) -> tuple[NamedWorkload, ...]:
    """The workloads that a name or a family ("iops.*") stands for.

    `target` is the target as the user wrote it, `where` the place of the name, for the message.
    Raises Refused for names that are not built yet and for unknown ones.
    """
    family, _, member = name.partition(".")
    if name in WORKLOADS:
        return (WORKLOADS[name],)
    if family in _FAMILIES and member == "*":
        return tuple(workload for workload in WORKLOADS.values() if workload.name.startswith(f"{family}."))
    if family in FILE_FAMILIES:
        raise Refused(f"{where}: {_no_file_workloads(name, target)}")
    if family in LATER_FAMILIES:
        raise Refused(f"{where}: {name} is not built yet; known are {_listing()}")
    close = difflib.get_close_matches(name, [*WORKLOADS, *(f"{family}.*" for family in _FAMILIES)], n=1)
    hint = f"; did you mean {close[0]}?" if close else "."
    raise Refused(f"{where}: {name!r} is not a workload{hint} Known are {_listing()}")


def _no_file_workloads(name: str, target: str) -> str:
    if not target.startswith("virtual:"):
        return f"{name} is not built yet; known are {_listing()}"
    drive = target.partition("@")[0]
    return (
        f"{name} is a file workload; {drive} is a block device without a host; "
        f"file workloads need a directory or {drive}@HOST, which is not built yet"
    )


def _listing() -> str:
    return ", ".join(WORKLOADS)
