"""The workloads that have a name, and a user's own.

What it models: a workload without its sizes: pattern, shares, and how it is done. `families` holds those that ship
with Mileage; a study's [workload.NAME] tables add their own.
What it refuses: names that it does not know, with the closest known one.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from mileage.model.target_kind import capabilities_of
from mileage.plan.faults import BrokenStudy, Fault
from mileage.plan.io_options import How, merged
from mileage.plan.job import Family, Programs
from mileage.plan.pattern import Does, Pattern, does, is_sequential
from mileage.plan.study import StopRule

Metric = Literal["throughput", "iops", "p99", "time"]
Kind = Literal["throughput", "iops", "time"]

METRICS: Final[dict[Metric, str]] = {
    "throughput": "rate_bytes_per_s",
    "iops": "ops_per_s",
    "p99": "latency_p99_ns",
    "time": "elapsed_s",
}
"""The words of a study file, and the names that samples carry; the unit is last."""

METRICS_OF: Final[dict[Kind, tuple[Metric, ...]]] = {
    "throughput": ("throughput",),
    "iops": ("iops", "p99"),
    "time": ("time",),
}
"""What is recorded of a workload of each kind unless a study says otherwise."""


class NamedWorkload(msgspec.Struct, frozen=True):
    """A workload without its sizes."""

    name: str
    """"throughput.write"."""
    title: str
    """What it does, in a few words."""
    pattern: Pattern
    read_percent: int
    """0..100 percent of the operations."""
    kind: Kind
    """Which relevance margin it is judged by."""
    metrics: tuple[Metric, ...]
    """What is recorded of it unless a study says otherwise."""
    how: How = How()
    """The keys that it sets; `reads` is in `read_percent`."""
    record: str | None = None
    """Its own record, where a study gives none."""
    stop: StopRule | None = None
    """Its own end, where a study gives none."""
    once: bool = False
    """Whether it ends at the end of its span at the latest."""
    alone: bool = False
    """Whether it is asked for by its own name only, and its family (`iozone.*`) leaves it out."""
    job: Family | None = None
    """Of files: the family whose job does it; None for a workload of blocks."""

    programs: Programs | None = None
    """For job "command": what is run."""

    @property
    def does(self) -> Does:
        """What its operations do, in percent of them."""
        return does(self.pattern, self.read_percent, self.how.discards or 0)

    @property
    def writes(self) -> bool:
        """Whether it writes or discards at all."""
        return self.does.write > 0 or self.does.discard > 0

    @property
    def reads(self) -> bool:
        """Whether it reads at all."""
        return self.does.read > 0


def as_done(named: NamedWorkload, how: How) -> NamedWorkload:
    """The workload with the keys of a study's table, which count more than its own."""
    together = merged(named.how, how)
    reads = named.read_percent if together.reads is None else together.reads
    return msgspec.structs.replace(named, read_percent=reads, how=together)


def of_pattern(
    name: str, title: str, pattern: Pattern, read_percent: int, how: How | None = None
) -> NamedWorkload:
    """A workload whose kind and metrics follow from its pattern."""
    kind: Kind = "throughput" if is_sequential(pattern) else "iops"
    return NamedWorkload(name, title, pattern, read_percent, kind, METRICS_OF[kind], how or How())


JOB_FAMILIES: Final = ("iozone", "metadata", "ior", "mdtest", "metarates")
"""Families of file workloads: they need a directory."""


_SYNONYMS: Final = {
    **{
        word: f"{order}_{verb}"
        for verb in ("read", "write")
        for word, order in (
            (verb, "sequential"),
            (f"seq{verb}", "sequential"),
            (f"seq_{verb}", "sequential"),
            (f"rand{verb}", "random"),
            (f"rand_{verb}", "random"),
            (f"{verb}_seq", "sequential"),
            (f"{verb}_random", "random"),
        )
    },
    **dict.fromkeys(("randrw", "rand_rw", "random_rw", "readwrite_random", "mixed", "random_mix"), "mix"),
    **dict.fromkeys(("rw", "readwrite"), "sequential_mix"),
    **dict.fromkeys(("trim", "randtrim", "random_trim", "unmap", "random_discard"), "discard"),
}
"""What other tools call a workload, and what it is called here."""


def find_workloads(
    name: str, target: str, source: str, path: str = "", own: Mapping[str, NamedWorkload] | None = None
) -> tuple[NamedWorkload, ...]:
    """The workloads that a name, a short name ("random_read") or a family ("iops.*") stands for.

    `own` are the user's, which come first. `target` is the target as the user wrote it, `path` that of the name in
    `source`, for the message. Raises BrokenStudy for unknown names.
    """
    from mileage.plan.families import WORKLOADS

    known = {**WORKLOADS, **(own or {})}
    family, dot, member = name.partition(".")
    if family in JOB_FAMILIES and not capabilities_of(target).is_real:
        raise BrokenStudy(source, [Fault(path, _needs_a_directory(name, target))])
    for spelling in (name, f"pattern.{name}", f"pattern.{name}_read") if not dot else (name,):
        if spelling in known:
            return (known[spelling],)
    families = dict.fromkeys(word.partition(".")[0] for word in WORKLOADS)
    if family in families and member == "*":
        members = (found for found in WORKLOADS.values() if found.name.startswith(f"{family}."))
        return tuple(workload for workload in members if not workload.alone)
    short = () if dot else (word.removeprefix("pattern.") for word in WORKLOADS)
    close = [
        *(_SYNONYMS[word] for word in (name.lower().replace("-", "_"),) if word in _SYNONYMS),
        *(word for word in WORKLOADS if word.partition(".")[0] in JOB_FAMILIES and word.endswith(f".{name}")),
        *difflib.get_close_matches(name, [*known, *short, *(f"{word}.*" for word in families)], n=1),
    ]
    hint = f"; did you mean {close[0]}?" if close else "."
    found = f"{name!r} is not a workload{hint} Known are {_listing(families)}"
    raise BrokenStudy(source, [Fault(path, found)])


def _needs_a_directory(name: str, target: str) -> str:
    if not capabilities_of(target).simulated:
        return f"{name} is a file workload and {target} is no directory; give a directory, dir:PATH"
    drive = target.partition("@")[0]
    return (
        f"{name} is a file workload; {drive} is a block device without a host; "
        f"file workloads need a directory or {drive}@HOST, which is not built yet"
    )


def _listing(families: Mapping[str, object]) -> str:
    return f"{', '.join(f'{family}.*' for family in families)}; see `mileage list workloads`"
