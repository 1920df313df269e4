"""Runs of IOR, mdtest and metarates, `ior.*`, `mdtest.*`, `metarates.*`: tests that several tasks do together.

Scope: a run of a study as the value that `tasks` defines. Of each tool one run measures all of its tests that
a table lists. What it refuses: keys that state what these tests state themselves, and what the values refuse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final, Self

from mileage.errors import Refusal, Refused
from mileage.plan import sizes
from mileage.plan.content import read_content, read_verify
from mileage.plan.file_job import FILES, Job, JobOptions, JobRequest
from mileage.plan.io_options import IoOptions
from mileage.plan.study import Measure
from mileage.plan.tasks import (
    IOR,
    MDTEST,
    METARATES,
    Ior,
    Mdtest,
    Metarates,
    ior_problem,
    read_reorder,
    read_tree,
    tasks_problem,
)

IOR_BLOCK: Final = "1MiB"
IOR_TRANSFER: Final = "256KiB"
"""IOR's own defaults; its segments are 1."""


class Tasks(Job, frozen=True):
    """One run of a tool whose tests several tasks do together."""

    value: Ior | Mdtest | Metarates
    is_set: ClassVar = True

    @property
    def workers(self) -> int:
        return self.value.tasks

    @classmethod
    def _names(cls, asked: JobRequest) -> tuple[str, ...]:
        return tuple(f"{cls.word()}.{test}" for test in asked.tests)


class IorRun(Tasks, tag="ior", frozen=True):
    """One repetition of IOR; the tasks always write the data before they read it."""

    value: Ior
    tests: ClassVar = IOR
    tool: ClassVar = "IOR"
    kind: ClassVar = "throughput"
    records: ClassVar = dict.fromkeys(IOR, IOR_TRANSFER)
    how: ClassVar = IoOptions(block=IOR_BLOCK, segments=1, sync="none")
    noun: ClassVar = "ior.*"
    keys: ClassVar = (
        *("block", "segments", "reorder", "files", "cache", "content", "verify", "generation"),
        *("sync", "sync_every", "dsync", "timeout"),
    )
    stop_advice: ClassVar = "IOR ends with the file; leave it out"
    keeps_cache: ClassVar = "IOR writes, then reads: the cache is left as it is"
    has_record: ClassVar = True
    size_advice: ClassVar = "--block and --segments say how much each task has"

    @classmethod
    def of(cls, asked: JobRequest) -> Self:
        how, names = asked.how, cls._names(asked)
        reorder, at_random = (0, False) if how.reorder is None else read_reorder(how.reorder)
        value = Ior(
            tasks=asked.threads,
            transfer_bytes=asked.record_bytes,
            block_bytes=sizes.size_bytes(how.block or 0),
            segments=how.segments or 1,
            files=how.files or "shared",
            phases=tuple(phase for phase in IOR if phase == "write" or f"ior.{phase}" in names),
            reorder=reorder,
            reorder_random=at_random,
            sync=how.sync or "none",
            sync_every=how.sync_every or 0,
            direct=(how.cache or asked.cache) == "direct",
            dsync=how.dsync or False,
            content="incompressible" if how.content is None else read_content(how.content),
            verify="off" if how.verify is None else read_verify(how.verify),
            generation=how.generation or 0,
            timeout_ns=asked.timeout_ns,
        )
        if problem := ior_problem(value):
            raise Refused.because(problem)
        size = value.aggregate_bytes
        reads = size if "read" in value.phases else 0
        return cls(value, JobOptions(), names, size + reads, bytes_read=reads, occupies=size)

    @property
    def new_files(self) -> int:
        return self.value.tasks if self.value.files == "per_thread" else 1

    def words(self) -> list[str]:
        value = self.value
        return [
            f"transfers of {sizes.format_bytes(value.transfer_bytes)}",
            f"blocks of {sizes.format_bytes(value.block_bytes)}",
            sizes.counted(value.segments, "segment"),
            sizes.counted(self.workers, "task"),
            "one file" if value.files == "shared" else "a file for each task",
            "page cache bypassed" if value.direct else "page cache used",
        ]


class NameTasks(Tasks, frozen=True):
    """One run of a tool whose tasks work on names."""

    value: Mdtest | Metarates
    stops: ClassVar = ("operations", "at_least")
    stop_advice: ClassVar = "{name} ends with its files; give their number (operations)"

    @classmethod
    def _of(cls, asked: JobRequest, value: Metarates | Mdtest) -> Self:
        """The job of a value. Raises ValueError."""
        if problem := tasks_problem(value):
            raise Refused.because(problem)
        has_files = any(test.startswith("file_") for test in asked.tests)
        size = asked.record_bytes * value.files if has_files else 0
        reads = size if "file_read" in asked.tests else 0
        return cls(
            value,
            JobOptions(),
            cls._names(asked),
            size + reads,
            bytes_read=reads,
            operations=value.files * len(asked.tests),
            occupies=size,
        )

    @property
    def new_files(self) -> int:
        """See `Job.new_files`: the files of one test, which are removed before the next, and the directories."""
        directories = self.value.directories * (self.value.tasks if self.value.own_directories else 1)
        return self.value.files + directories

    @staticmethod
    def _shared(asked: JobRequest) -> dict[str, Any]:
        """The fields that both values have."""
        return {
            "tasks": asked.threads,
            "files": asked.stop.operations or FILES,
            "tests": asked.tests,
            "own_directories": asked.how.files == "per_thread",
            "fsync": asked.how.sync == "fsync",
            "timeout_ns": asked.timeout_ns,
        }

    def words(self) -> list[str]:
        value = self.value
        return [
            f"{value.files:,} files",
            sizes.counted(self.workers, "task"),
            "directories of each task's own" if value.own_directories else "one directory",
            *(["synced one by one"] if value.fsync else []),
        ]


class MdtestRun(NameTasks, tag="mdtest", frozen=True):
    """One iteration of mdtest."""

    value: Mdtest
    tool: ClassVar = "mdtest"
    noun: ClassVar = "mdtest.*"
    keys: ClassVar = ("files", "sync", "timeout", "tree", "stride")
    tests: ClassVar = MDTEST
    alone: ClassVar = ("dir_rename",)

    @classmethod
    def of(cls, asked: JobRequest) -> Self:
        how, size = asked.how, asked.record_bytes
        depth, branch, leaves_only = (0, 1, False) if how.tree is None else read_tree(how.tree)
        value = Mdtest(
            **cls._shared(asked),
            depth=depth,
            branch=branch,
            leaves_only=leaves_only,
            stride=how.stride or 0,
            write_bytes=size,
            read_bytes=size,
        )
        return cls._of(asked, value)


class MetaratesRun(NameTasks, tag="metarates", frozen=True):
    """One repetition of metarates."""

    value: Metarates
    tool: ClassVar = "metarates"
    noun: ClassVar = "metarates.*"
    keys: ClassVar = ("files", "sync", "timeout")
    tests: ClassVar = METARATES
    alone: ClassVar = ("unlink",)

    @classmethod
    def of(cls, asked: JobRequest) -> Self:
        return cls._of(asked, Metarates(**cls._shared(asked)))

    @classmethod
    def refusals(cls, name: str, table: Measure) -> Iterator[Refusal]:
        if table.record is not None:
            yield Refusal("record", text="metarates makes empty files", advice="remove it", code="no-effect")
        yield from super().refusals(name, table)
