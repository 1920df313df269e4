"""Operations on names and inodes, `metadata.*`: one operation on many files in a directory of their own.

What it refuses: fdatasync, which a new file does not have; a setting that has no effect on the operation.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal, Self

import msgspec
from msgspec import UNSET, UnsetType

from mileage._core import metadata_problem
from mileage.errors import Refused
from mileage.plan import sizes
from mileage.plan.file_job import FILES, Job, JobOptions, JobRequest

METADATA: Final = {
    "create": "create and close files",
    "open": "open and close files",
    "read": "open, read and close files",
    "stat": "stat files",
    "utime": "set the times of files",
    "rename": "rename files",
    "unlink": "remove files",
    "mkdir": "make directories",
    "rmdir": "remove directories",
    "readdir": "list directories",
}
"""Operations on names and inodes, and what each does."""


_KEYS: Final = {"fsync": "sync", "file_bytes": "record", "files": "stop.operations", "time_ns": "stop.time"}
"""The key of a study that gives a field of the core."""


class NamesValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The operation and the number of files, as the core's `Metadata`."""

    operation: str
    files: int
    threads: int
    directories: Literal["per_worker", "shared"]
    file_bytes: int
    fsync: bool
    time_ns: int | None
    seed: int | UnsetType = UNSET


class Names(Job, tag="metadata", frozen=True):
    """One operation on many files in a fresh directory, which is removed again."""

    value: NamesValue
    tests: ClassVar = METADATA
    records: ClassVar = {"read": "4KiB"}
    noun: ClassVar = "metadata operations"
    keys: ClassVar = ("files", "sync", "timeout", "pin")
    stops: ClassVar = ("operations", "time", "at_least")
    stop_advice: ClassVar = "metadata operations end after operations or a time"

    @classmethod
    def of(cls, asked: JobRequest) -> Self:
        files, how, size = asked.stop.operations or FILES, asked.how, asked.record_bytes
        value = NamesValue(
            operation=asked.test,
            files=files,
            threads=asked.threads,
            directories="per_worker" if how.files == "per_thread" else "shared",
            file_bytes=size,
            fsync=how.sync == "fsync",
            time_ns=None if asked.stop.time is None else sizes.parse_time_ns(asked.stop.time),
        )
        broken = metadata_problem(msgspec.json.encode(msgspec.structs.replace(value, seed=0)).decode())
        if broken is not None:
            key, words = _KEYS.get(broken[0], broken[0]), f"of metadata.{asked.test}: {broken[1]}"
            raise Refused(key, words, advice="give that workload a table of its own", code="wrong-value")
        options = JobOptions(pin_cpus=how.pin or (), timeout_ns=asked.timeout_ns)
        return cls(value, options, (), bytes=size * files, operations=files, occupies=size * files)

    @property
    def new_files(self) -> int:
        own = self.value.directories == "per_worker"
        return self.value.files + (self.value.threads if own else 1)

    def words(self) -> list[str]:
        value = self.value
        size = f" of {sizes.format_bytes(value.file_bytes)}" if value.file_bytes else ""
        own = value.directories == "per_worker"
        return [
            f"{value.files:,} files{size}",
            sizes.counted(value.threads, "thread"),
            "directories of each thread's own" if own else "one directory",
            *(["synced one by one"] if value.fsync else []),
        ]
