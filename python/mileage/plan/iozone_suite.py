"""IOzone's tests, `iozone.*`: a set of tests on one file, of which each has figures of its own.

What it refuses: keys that say how blocks are visited, and ends, since these tests state both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, Literal, Self

import msgspec
from msgspec import UNSET, UnsetType

from mileage.errors import Refusal
from mileage.plan.content import Content, read_content
from mileage.plan.file_job import Job, JobOptions, JobRequest
from mileage.plan.iozone_manner import Manner
from mileage.plan.iozone_switches import problem_of, value_of
from mileage.plan.page_cache_state import read_cache
from mileage.plan.sizes import counted, format_bytes
from mileage.plan.study import Measure, listed

IOZONE: Final[dict[str, tuple[str, str]]] = {
    "write": ("write", "write a new file, record after record"),
    "rewrite": ("write", "write the same file a second time"),
    "read": ("read", "read the file, record after record"),
    "reread": ("read", "read the file a second time"),
    "random_read": ("random", "read every record once, in random order"),
    "random_write": ("random", "write every record once, in random order"),
    "backward_read": ("backward", "read from the last record to the first"),
    "record_rewrite": ("record_rewrite", "write the first record repeatedly"),
    "stride_read": ("stride", "read every 17th record, until each was read once"),
    "fwrite": ("fwrite", "write a new file through a C stream (fwrite)"),
    "frewrite": ("fwrite", "write the same file a second time (fwrite)"),
    "fread": ("fread", "read the file through a C stream (fread)"),
    "freread": ("fread", "read the file a second time (fread)"),
    "pwrite": ("pwrite", "write the file, record after record, by pwrite"),
    "repwrite": ("pwrite", "write the same file a second time (pwrite)"),
    "pread": ("pread", "read the file, record after record, by pread"),
    "repread": ("pread", "read the file a second time (pread)"),
    "mix": ("mix", "some threads read at random, the others write (two threads or more)"),
}
"""IOzone's tests: the group that each is done with, and what it does."""
NUMBERED: Final = (
    *("write", "read", "random", "backward", "record_rewrite", "stride", "fwrite", "fread", "mix"),
    *("pwrite", "pread"),
)
"""The groups by the numbers of IOzone's `-i`."""
RETESTS: Final = ("rewrite", "reread", "frewrite", "freread", "repwrite", "repread")


class SuiteValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A set of tests as the core's `Iozone` has it; the fields of switches that were not given are not there."""

    mode: Literal["fidelity", "intended"]
    tests: tuple[str, ...]
    """Groups of tests, in order."""
    file_bytes: int
    record_bytes: int
    workers: int | None
    """Children; None for a single stream."""
    retests: bool
    flush_timed: bool
    direct: bool
    cold: bool | UnsetType = UNSET
    """Reads begin with nothing of the file in the page cache; rereads with what the reads left there."""
    dsync: bool
    content: Content | None
    timeout_ns: int
    stride_records: int | UnsetType = UNSET
    close_timed: bool | UnsetType = UNSET
    osync: bool | UnsetType = UNSET
    stonewall: bool | UnsetType = UNSET
    mix_read_percent: int | UnsetType | None = UNSET
    mix_sequential: bool | UnsetType = UNSET
    pause_ns: int | UnsetType = UNSET
    keep: bool | UnsetType = UNSET
    compare: bool | UnsetType = UNSET
    manner: Manner | UnsetType = UNSET
    seed: int | UnsetType = UNSET


class Suite(Job, tag="iozone", frozen=True):
    """The set of IOzone's tests that gives the wanted figures, on a file of its own, written first."""

    value: SuiteValue
    tests: ClassVar = {test: does for test, (_, does) in IOZONE.items()}
    tool: ClassVar = "IOzone"
    kind: ClassVar = "throughput"
    alone: ClassVar = ("mix", "pwrite", "repwrite", "pread", "repread")
    noun: ClassVar = "IOzone's tests"
    keys: ClassVar = ("content", "cache", "dsync", "sync", "timeout")
    stop_advice: ClassVar = "IOzone's tests end with the file; leave it out"
    keeps_cache: ClassVar = "IOzone's tests follow each other, so the cache is left as it is"
    can_read_cold: ClassVar = True
    has_record: ClassVar = True
    has_size: ClassVar = True
    is_set: ClassVar = True

    @property
    def names_its_files(self) -> bool:
        return bool(self.options.name or self.options.files)

    @property
    def new_files(self) -> int:
        return self.value.workers or 1

    @property
    def privileged_steps(self) -> tuple[str, ...]:
        manner = self.value.manner
        place = None if manner is UNSET else manner.remount
        return () if place is None else (f"unmount {place} and mount it again before each of IOzone's tests",)

    @classmethod
    def of(cls, asked: JobRequest) -> Self:
        """Build the set of IOzone tests from the keys of a study (see `Job.of`)."""
        how, switches, threads, file = asked.how, asked.switches, asked.threads, asked.file_bytes
        first = () if switches is not None and switches.exactly else ("write",)
        groups = list(dict.fromkeys([*first, *(IOZONE[test][0] for test in asked.tests)]))
        retests = any(test in RETESTS for test in asked.tests)
        value = SuiteValue(
            mode="fidelity" if asked.fidelity else "intended",
            tests=tuple(groups),
            file_bytes=file,
            record_bytes=asked.record_bytes,
            workers=threads if threads > 1 else None,
            retests=retests,
            flush_timed=how.sync != "none",
            direct=(how.cache or asked.cache) == "direct",
            cold=True if read_cache(how.cache or asked.cache).mode == "cold" else UNSET,
            dsync=how.dsync or False,
            content=None if how.content is None else read_content(how.content),
            timeout_ns=asked.timeout_ns,
        )
        options = JobOptions()
        if switches is not None:
            value = msgspec.structs.replace(value, **value_of(switches, threads))
            retests, file = switches.retests, value.file_bytes
            options = JobOptions(
                name=switches.name, files=switches.files, processes=switches.processes or UNSET
            )
        twice = ("write", "read", "fwrite", "fread", "random", "pwrite", "pread") if retests else ()
        passes = sum(2 if group in twice else 1 for group in groups)
        names = tuple(f"iozone.{test}" for test in asked.tests)
        return cls(value, options, names, bytes=file * threads * passes, occupies=file * threads)

    @classmethod
    def refusals(cls, name: str, table: Measure) -> Iterator[Refusal]:
        if table.iozone is not None and (problem := problem_of(table.iozone)) is not None:
            yield problem.below("iozone")
        together = table.iozone is not None and table.iozone.together
        if "iozone.mix" in listed(table.workload) and not together and min(listed(table.threads)) < 2:
            yield Refusal(
                "threads",
                found="1",
                advice="iozone.mix divides reads and writes among two threads or more",
                code="too-few",
            )
        if (
            table.iozone is not None
            and table.iozone.processes
            and not together
            and min(listed(table.threads)) < 2
        ):
            yield Refusal(
                "iozone.processes",
                found="true for a single stream",
                expected="children: two threads or more, or together = true",
                code="no-effect",
            )
        if table.cache is not None and table.fidelity and read_cache(table.cache).mode == "cold":
            yield Refusal(
                "cache",
                text="cold, which IOzone has not",
                expected="manner.remount, or without fidelity",
                code="unsupported",
            )
        yield from cls._stop_refusals(name, table.stop)

    def with_seed(self, seed: int) -> Self:
        """Copy of this set of IOzone tests with the seed of a run; 0 where a later call must find the same data."""
        return super().with_seed(0 if self.value.keep else seed)

    def words(self) -> list[str]:
        value = self.value
        streams = not {"fwrite", "fread"}.isdisjoint(value.tests)
        bypassed = "page cache bypassed" + (", but not by C streams" if streams else "")
        return [
            f"records of {format_bytes(value.record_bytes)}",
            f"in a file of {format_bytes(value.file_bytes)}",
            counted(value.workers or 1, "thread"),
            *(("each in a process of its own",) if self.options.processes is True else ()),
            "IOzone's own calls" if value.mode == "fidelity" else "as the tests' names say",
            bypassed if value.direct else "page cache used",
            *(("reads begin with a cold cache",) if value.cold is True else ()),
            "flush in the time" if value.flush_timed else "flush not in the time",
        ]
