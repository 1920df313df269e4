"""Work on files that is more than one run of a workload: IOzone's tests, and operations on names and inodes.

What it models: a job as the value that the core takes, and the names of what can be asked for: `iozone.*` (a set of
tests on one file, of which each leaves figures of its own), `metadata.*` (one operation on many files), and the tests
of `ior.*`, `mdtest.*` and `metarates.*`, which several tasks do together (see `tasks`).
What it refuses: keys that say how blocks are visited, since these tests say so themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

import msgspec

from mileage.plan import sizes
from mileage.plan.caching import read_cache
from mileage.plan.content import read_content, read_verify
from mileage.plan.io_options import HOW_KEYS, How
from mileage.plan.study import StopRule
from mileage.plan.switches import IozoneSwitches, value_of
from mileage.plan.tasks import (
    IOR,
    IOR_KEYS,
    MDTEST_KEYS,
    METARATES_KEYS,
    Ior,
    Mdtest,
    Metarates,
    TaskFamily,
    ior_problem,
    metadata_problem,
    read_reorder,
    read_tree,
)

Family = Literal["iozone", "metadata", "command", "ior", "mdtest", "metarates"]

FILES: Final = 10_000
"""Files of a metadata operation unless a stop rule says how many."""
SEED_FIELD: Final = "seed"
"""The field of a job's value that a run's seed goes into."""

IOZONE: Final[dict[str, tuple[str, str]]] = {
    "write": ("write", "a new file, record by record"),
    "rewrite": ("write", "the same file again"),
    "read": ("read", "record by record"),
    "reread": ("read", "again"),
    "random_read": ("random", "reads of each record once, in no order"),
    "random_write": ("random", "writes of each record once, in no order"),
    "backward_read": ("backward", "from the last record to the first"),
    "record_rewrite": ("record_rewrite", "the first record, again and again"),
    "stride_read": ("stride", "every 17th record, until each was read"),
    "fwrite": ("fwrite", "a new file through a C stream"),
    "frewrite": ("fwrite", "the same file again through a C stream"),
    "fread": ("fread", "through a C stream"),
    "freread": ("fread", "again through a C stream"),
    "mix": ("mix", "some threads read at random, the others write (two threads or more)"),
}
"""IOzone's tests: the group that each is done with, and what it does."""
RETESTS: Final = ("rewrite", "reread", "frewrite", "freread")
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

_IOZONE_KEYS: Final = ("content", "cache", "dsync", "sync", "timeout")
_METADATA_KEYS: Final = ("files", "sync", "timeout", "pin")
_COMMAND_KEYS: Final = ("timeout",)
NO_RECORD: Final = ("metadata", "command", "mdtest", "metarates")
"""Families of work on files without a record."""
NO_AREA: Final = (*NO_RECORD, "ior")
"""Families of work on files that visit no part of the work area."""

_KEYS: Final[dict[Family, tuple[str, ...]]] = {
    "iozone": _IOZONE_KEYS,
    "metadata": _METADATA_KEYS,
    "command": _COMMAND_KEYS,
    "ior": IOR_KEYS,
    "mdtest": MDTEST_KEYS,
    "metarates": METARATES_KEYS,
}


class Programs(NamedTuple):
    """A workload that is a program: each with its arguments, run without a shell."""

    command: tuple[str, ...]
    """What is measured."""
    before: tuple[str, ...] | None = None
    """What prepares each run; its time does not count."""
    cleanup: tuple[str, ...] | None = None
    """What cleans up after each run; its time does not count."""


class Job(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Work for the core, as it takes it."""

    family: Family
    value: dict[str, Any]
    """The value of the crate `mileage-engine` (`Iozone`) or `mileage-workload` (`Metadata`), as JSON."""
    options: dict[str, Any]
    """How it is done beside that."""
    names: tuple[str, ...]
    """Of a set of tests, those whose figures are wanted: "iozone.read"."""
    bytes: int
    """Bytes that it moves, as far as that is known beforehand."""
    bytes_read: int = 0
    """Of these, bytes that are known to be read."""
    operations: int = 0
    """Names and inodes that it works on."""
    occupies: int = 0
    """Bytes that its own files take while it runs."""
    writes: bool = True
    """Whether it changes the content of its target."""
    limit_bytes: int = 0
    """Memory within which it is done; 0 for all that there is."""

    def with_seed(self, seed: int) -> Job:
        """The same job with a run's seed, but IOzone's with 0 where its files stay: another call compares them."""
        if self.family == "iozone" and self.value.get("keep"):
            seed = 0
        return msgspec.structs.replace(self, value={**self.value, SEED_FIELD: seed})


def keys_without_effect(family: Family, how: How, cache: str) -> Iterator[tuple[str, str]]:
    """Every key of a table that a family has no use for, as (key, why)."""
    known = _KEYS[family]
    name = {"iozone": "IOzone's tests", "metadata": "metadata operations", "command": "programs"}.get(
        family, f"{family}.*"
    )
    for key in HOW_KEYS:
        if key not in known and getattr(how, key) is not None:
            yield key, f"has no effect on {name}, which know {', '.join(known)}; leave it out"
    if family == "iozone" and read_cache(how.cache or cache).mode in ("cold", "dropped", "hot"):
        yield (
            "cache",
            "IOzone's tests follow each other, so the cache is left as it is; expected direct, warm or limited:SIZE",
        )
    if family == "ior" and read_cache(how.cache or cache).mode in ("cold", "dropped", "hot"):
        yield (
            "cache",
            "IOR writes, then reads: the cache is left as it is; expected direct, warm or limited:SIZE",
        )
    if family in ("metadata", "mdtest", "metarates") and how.sync == "fdatasync":
        yield "sync", "found fdatasync; a new file is synced with fsync, or not at all"


def iozone_job(
    tests: tuple[str, ...],
    *,
    record: int,
    file: int,
    threads: int,
    how: How,
    cache: str,
    fidelity: bool,
    switches: IozoneSwitches | None = None,
) -> Job:
    """The set of IOzone's tests that gives the figures of `tests` ("read"), on a file of its own, written first."""
    first = () if switches is not None and switches.exactly else ("write",)
    groups = list(dict.fromkeys([*first, *(IOZONE[test][0] for test in tests)]))
    retests = any(test in RETESTS for test in tests)
    value: dict[str, Any] = {
        "mode": "fidelity" if fidelity else "intended",
        "tests": groups,
        "file_bytes": file,
        "record_bytes": record,
        "workers": threads if threads > 1 else None,
        "retests": retests,
        "flush_timed": how.sync != "none",
        "direct": (how.cache or cache) == "direct",
        "dsync": how.dsync or False,
        "content": None if how.content is None else msgspec.to_builtins(read_content(how.content)),
        "timeout_ns": 0 if how.timeout is None else sizes.parse_time_ns(how.timeout),
    }
    options: dict[str, Any] = {}
    if switches is not None:
        value |= value_of(switches, threads)
        retests, file = switches.retests, value["file_bytes"]
        options = {"name": switches.name, "files": switches.files}
    passes = sum(
        2 if retests and group in ("write", "read", "fwrite", "fread", "random") else 1 for group in groups
    )
    names = tuple(f"iozone.{test}" for test in tests)
    return Job("iozone", value, options, names, bytes=file * threads * passes, occupies=file * threads)


def metadata_job(operation: str, *, file_bytes: int, threads: int, stop: StopRule, how: How) -> Job:
    """One operation on many files in a fresh directory, which is removed again."""
    files = stop.operations or FILES
    value: dict[str, Any] = {
        "operation": operation,
        "files": files,
        "threads": threads,
        "directories": "per_worker" if how.files == "per_thread" else "shared",
        "file_bytes": file_bytes,
        "fsync": how.sync == "fsync",
        "time_ns": None if stop.time is None else sizes.parse_time_ns(stop.time),
    }
    options = {
        "pin_cpus": how.pin or (),
        "timeout_ns": 0 if how.timeout is None else sizes.parse_time_ns(how.timeout),
    }
    return Job(
        "metadata",
        value,
        options,
        (),
        bytes=file_bytes * files,
        operations=files,
        occupies=file_bytes * files,
    )


def task_job(
    family: TaskFamily,
    tests: tuple[str, ...],
    *,
    record_bytes: int,
    tasks: int,
    stop: StopRule,
    how: How,
    cache: str,
) -> Job:
    """One run of IOR, mdtest or metarates that gives the figures of `tests` ("write"). Raises ValueError.

    The error's arguments are the key and what is wrong.
    """
    names = tuple(f"{family}.{test}" for test in tests)
    timeout_ns = 0 if how.timeout is None else sizes.parse_time_ns(how.timeout)
    if family == "ior":
        return _ior_job(
            names, record_bytes=record_bytes, tasks=tasks, how=how, cache=cache, timeout_ns=timeout_ns
        )
    files = stop.operations or FILES
    value: Metarates | Mdtest
    if family == "metarates":
        value = Metarates(
            tasks=tasks,
            files=files,
            tests=tests,
            own_directories=how.files == "per_thread",
            fsync=how.sync == "fsync",
            timeout_ns=timeout_ns,
        )
    else:
        depth, branch, leaves_only = (0, 1, False) if how.tree is None else read_tree(how.tree)
        value = Mdtest(
            tasks=tasks,
            files=files,
            tests=tests,
            own_directories=how.files == "per_thread",
            depth=depth,
            branch=branch,
            leaves_only=leaves_only,
            stride=how.stride or 0,
            write_bytes=record_bytes,
            read_bytes=record_bytes,
            fsync=how.sync == "fsync",
            timeout_ns=timeout_ns,
        )
    if problem := metadata_problem(value):
        raise ValueError(*problem)
    operations = files * len(tests)
    size = record_bytes * files if any(test.startswith("file_") for test in tests) else 0
    reads = size if "file_read" in tests else 0
    return Job(
        family,
        msgspec.to_builtins(value),
        {},
        names,
        size + reads,
        bytes_read=reads,
        operations=operations,
        occupies=size,
    )


def _ior_job(
    names: tuple[str, ...], *, record_bytes: int, tasks: int, how: How, cache: str, timeout_ns: int
) -> Job:
    """What is read is always written first, by the tasks that read."""
    reorder, at_random = (0, False) if how.reorder is None else read_reorder(how.reorder)
    value = Ior(
        tasks=tasks,
        transfer_bytes=record_bytes,
        block_bytes=sizes.size_bytes(how.block or 0),
        segments=how.segments or 1,
        files=how.files or "shared",
        phases=tuple(phase for phase in IOR if phase == "write" or f"ior.{phase}" in names),
        reorder=reorder,
        reorder_random=at_random,
        sync=how.sync or "none",
        sync_every=how.sync_every or 0,
        direct=(how.cache or cache) == "direct",
        dsync=how.dsync or False,
        content="incompressible" if how.content is None else read_content(how.content),
        verify="off" if how.verify is None else read_verify(how.verify),
        generation=how.generation or 0,
        timeout_ns=timeout_ns,
    )
    if problem := ior_problem(value):
        raise ValueError(*problem)
    size = value.aggregate_bytes
    reads = size if "read" in value.phases else 0
    return Job("ior", msgspec.to_builtins(value), {}, names, size + reads, bytes_read=reads, occupies=size)


def command_job(programs: Programs, how: How) -> Job:
    """A program that is run in the target's directory. What it reads and writes is not known beforehand."""
    value: dict[str, Any] = {
        "command": programs.command,
        "before": programs.before,
        "cleanup": programs.cleanup,
        "timeout_ns": 0 if how.timeout is None else sizes.parse_time_ns(how.timeout),
        SEED_FIELD: 0,
    }
    return Job("command", value, {}, (), bytes=0)
