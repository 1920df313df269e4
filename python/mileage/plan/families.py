"""The named workloads that ship with Mileage, by family.

Scope: `throughput.*` and `iops.*`, which studies judge; `pattern.*`, one for each pattern of the engine,
also found by the short name ("random_read"); and the workloads of other tools, with their sizes: `iometer.*`,
`sqlio.*`, `hdparm.*`, `dd.*`, those of applications, `application.*`, and, on files, `iozone.*`, `metadata.*`, `ior.*`,
`mdtest.*` and `metarates.*`.
What it refuses: names that it does not know, with the closest known one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from mileage.errors import Refusal, closest
from mileage.model.target_kind import capabilities_of
from mileage.plan.faults import BrokenStudy
from mileage.plan.file_job import FILES, Job
from mileage.plan.io_options import IoOptions
from mileage.plan.named_workloads import METRICS_OF, Kind, NamedWorkload, of_pattern
from mileage.plan.pattern import (
    Access,
    AccessLine,
    HotCold,
    IozoneStride,
    PartlySequential,
    Pattern,
    PatternName,
    PatternTable,
    Stride,
    Zipf,
)
from mileage.plan.run_action import FILE_JOBS
from mileage.plan.sizes import exact_bytes
from mileage.plan.study import StopRule

_PATTERNS: Final[dict[str, tuple[Pattern, str]]] = {
    "sequential": ("sequential", "one record after the other"),
    "random": ("random", "uniformly random offsets"),
    "shuffled": ("shuffled", "every record once, in random order"),
    "backward": ("backward", "from the last record to the first"),
    "stride": (PatternTable(stride=Stride(17)), "every 17th record, until each was visited once"),
    "fixed": ("fixed", "the same record repeatedly"),
    "zipf": (PatternTable(zipf=Zipf(120)), "a few records often, most seldom (Zipf, exponent 1.2)"),
    "hot_cold": (PatternTable(hot_cold=HotCold(10, 90)), "nine in ten operations go to a tenth of the span"),
    "partly_sequential": (
        PatternTable(partly_sequential=PartlySequential(10)),
        "one after the other, with a jump in one of ten",
    ),
    "iozone_shuffle": ("iozone_shuffle", "the order of IOzone's random tests"),
    "iozone_stride": (PatternTable(iozone_stride=IozoneStride()), "the order of IOzone's stride test"),
}


def _judged() -> Iterator[NamedWorkload]:
    for name, title, reads in (("write", "sequential writes", 0), ("read", "sequential reads", 100)):
        yield NamedWorkload(f"throughput.{name}", title, "sequential", reads, "throughput", ("throughput",))
    for name, title, pattern, reads in (
        ("random_write", "writes at uniformly random offsets", "random", 0),
        ("random_read", "reads at uniformly random offsets", "random", 100),
        ("shuffled_write", "writes to every record once, in random order", "shuffled", 0),
        ("shuffled_read", "reads of every record once, in random order", "shuffled", 100),
    ):
        chosen: Pattern = "random" if pattern == "random" else "shuffled"
        yield NamedWorkload(f"iops.{name}", title, chosen, reads, "iops", ("iops", "p99"))


def _patterns() -> Iterator[NamedWorkload]:
    for name, (pattern, title) in _PATTERNS.items():
        for verb, reads in (("read", 100), ("write", 0)):
            yield of_pattern(f"pattern.{name}_{verb}", f"{verb}s: {title}", pattern, reads)
    yield of_pattern("pattern.mix", "70 % reads, 30 % writes at uniformly random offsets", "random", 70)
    yield of_pattern(
        "pattern.sequential_mix", "70 % reads, 30 % writes, one record after the other", "sequential", 70
    )
    yield of_pattern(
        "pattern.discard", "discards at uniformly random offsets", "random", 0, IoOptions(discards=100)
    )


_IOMETER_SIZES: Final = {"512b": 512, "4k": 4096, "16k": 16384, "32k": 32768}
_IOMETER_LARGE: Final = {"64k": 65536, "256k": 262144}
_FILE_SERVER: Final = {512: 10, 1024: 5, 2048: 5, 4096: 60, 8192: 2, 16384: 4, 32768: 4, 65536: 10}
_WEB_SERVER: Final = {
    512: 22,
    1024: 15,
    2048: 8,
    4096: 23,
    8192: 15,
    16384: 2,
    32768: 6,
    65536: 7,
    131072: 1,
    524288: 1,
}


def _iometer() -> Iterator[NamedWorkload]:
    """IOMeter's built-in access specifications, and the classic mixes that others published for it."""
    single: dict[str, AccessLine] = {}
    for word, size in _IOMETER_SIZES.items():
        for reads in (100, 75, 50, 25, 0):
            single[f"{word}_read{reads}_random0"] = AccessLine(size, 100, reads, 0)
    for reads in (100, 50, 0):
        single[f"4k_read{reads}_random100"] = AccessLine(4096, 100, reads, 100, align_bytes=4096)
    for word, size in _IOMETER_LARGE.items():
        for reads in (100, 50, 0):
            single[f"{word}_read{reads}_random0"] = AccessLine(size, 100, reads, 0)
    for name, line in single.items():
        place = "random" if line.random_percent else "sequential"
        title = f"IOMeter: {line.size_bytes} B, {line.read_percent} % reads, {place}"
        yield _access(name, title, (line,))
    share, rest = divmod(100, len(single))
    shares = (share + (number < rest) for number in range(len(single)))
    everything = tuple(
        AccessLine(
            line.size_bytes, part, line.read_percent, line.random_percent, align_bytes=line.align_bytes
        )
        for line, part in zip(single.values(), shares, strict=True)
    )
    yield _access("all_in_one", "IOMeter: all its built-in specifications in equal shares", everything)
    yield _access("default", "IOMeter: 2 KiB, 67 % reads, random", (AccessLine(2048, 100, 67, 100),))
    yield _access("database", "IOMeter: 8 KiB, 67 % reads, random", (AccessLine(8192, 100, 67, 100),))
    yield _access("workstation", "IOMeter: 8 KiB, 80 % reads, 80 % random", (AccessLine(8192, 100, 80, 80),))
    lines = tuple(AccessLine(size, part, 80, 100) for size, part in _FILE_SERVER.items())
    yield _access("file_server", "IOMeter: 512 B to 64 KiB, 80 % reads, random", lines)
    lines = tuple(AccessLine(size, part, 100, 100) for size, part in _WEB_SERVER.items())
    yield _access("web_server", "IOMeter: 512 B to 512 KiB, reads, random", lines)


def _access(name: str, title: str, lines: tuple[AccessLine, ...]) -> NamedWorkload:
    pattern = PatternTable(access=Access(lines))
    kind: Kind = "iops" if any(line.random_percent for line in lines) else "throughput"
    largest = exact_bytes(max(line.size_bytes for line in lines))
    return NamedWorkload(f"iometer.{name}", title, pattern, 100, kind, METRICS_OF[kind], record=largest)


def _sqlio() -> Iterator[NamedWorkload]:
    for verb, reads in (("read", 100), ("write", 0)):
        for pattern, record in (_RANDOM_8K, _SEQUENTIAL_64K):
            named = of_pattern(
                f"sqlio.{pattern}_{verb}", f"SQLIO: {record} {pattern} {verb}s", pattern, reads
            )
            yield msgspec.structs.replace(named, record=record, stop=StopRule(time="120 s"))


_RANDOM_8K: Final[tuple[PatternName, str]] = ("random", "8KiB")
_SEQUENTIAL_64K: Final[tuple[PatternName, str]] = ("sequential", "64KiB")

_HDPARM: Final[dict[str, tuple[PatternName, str, str, str, str]]] = {
    "cached": ("fixed", "cold", "1 s", "2 s", "-T: the first 2 MiB repeatedly from the page cache"),
    "buffered": ("sequential", "cold", "3 s", "3 s", "-t: sequential reads through the emptied page cache"),
    "cached_direct": ("fixed", "direct", "1 s", "2 s", "-T --direct: the first 2 MiB repeatedly"),
    "buffered_direct": (
        *("sequential", "direct", "3 s", "3 s"),
        "-t --direct: sequential reads past the page cache",
    ),
}
"""Pattern, cache, rest before, length, and what is said of it."""


def _hdparm() -> Iterator[NamedWorkload]:
    """`hdparm -T` reads the first 2 MiB repeatedly, `-t` reads on from the start, with an emptied cache.

    Both rest before, and write into every sector that was read, within the time.
    """
    for name, (pattern, cache, rest, time, title) in _HDPARM.items():
        how = IoOptions(cache=cache, settle=rest, touch=512)
        named = NamedWorkload(
            f"hdparm.{name}", f"hdparm {title}", pattern, 100, "throughput", ("throughput",), how
        )
        once = pattern == "sequential"
        yield msgspec.structs.replace(named, record="2MiB", stop=StopRule(time=time), once=once)


_DD: Final[dict[str, tuple[int, IoOptions, str]]] = {
    "read": (100, IoOptions(cache="warm"), "if=TARGET of=/dev/null bs=1M count=10240"),
    "write": (
        0,
        IoOptions(cache="warm", content="zeros", sync="fdatasync"),
        "if=/dev/zero of=TARGET bs=1M count=10240 conv=fdatasync",
    ),
}


def _dd() -> Iterator[NamedWorkload]:
    """`dd` of 10 GiB in 1 MiB blocks, or of the whole target if it is smaller."""
    for name, (reads, how, title) in _DD.items():
        named = NamedWorkload(
            f"dd.{name}", f"dd {title}", "sequential", reads, "throughput", ("throughput",), how
        )
        yield msgspec.structs.replace(named, record="1MiB", stop=StopRule(bytes="10GiB"), once=True)


_LOG: Final = IoOptions(sync="fdatasync", sync_every=1)
"""Every write is durable before the next one begins."""
_APPLICATIONS: Final[dict[str, tuple[PatternName, int, str, Kind, IoOptions, str]]] = {
    "nastran": ("backward", 100, "256KiB", "throughput", IoOptions(), "a solver reads backwards"),
    "exchange": ("random", 60, "32KiB", "iops", IoOptions(), "database pages of a mail server, 60 % reads"),
    "streaming": ("sequential", 100, "256KiB", "throughput", IoOptions(), "a viewer of a film per thread"),
    "vm_host": ("random", 70, "8KiB", "iops", IoOptions(), "virtual machines, 70 % reads"),
    "ceph_journal": ("sequential", 0, "4KiB", "iops", _LOG, "a journal; each write is made durable"),
    "zfs_log": ("sequential", 0, "128KiB", "iops", _LOG, "an intent log; each write is made durable"),
    "scratch_write": ("sequential", 0, "2MiB", "throughput", IoOptions(), "scratch of a cluster, written"),
    "scratch_read": ("sequential", 100, "2MiB", "throughput", IoOptions(), "scratch of a cluster, read"),
}
"""Pattern, reads in percent, record, kind, how, and what is said of it. docs/reference/workloads.md has the sources."""


def _applications() -> Iterator[NamedWorkload]:
    """Patterns of applications that are named in the literature, without their threads and queue depths."""
    for name, (pattern, reads, record, kind, how, title) in _APPLICATIONS.items():
        named = NamedWorkload(
            f"application.{name}", f"application: {title}", pattern, reads, kind, METRICS_OF[kind], how
        )
        yield msgspec.structs.replace(named, record=record)


def _of_files(job: type[Job]) -> Iterator[NamedWorkload]:
    """The named workloads of one file-based family (IOzone, IOR, mdtest, metarates)."""
    stop = StopRule(operations=FILES) if "operations" in job.stops else StopRule()
    for test, title in job.tests.items():
        reads = 100 if job.kind == "throughput" and test.endswith("read") else 50 if test == "mix" else 0
        yield NamedWorkload(
            f"{job.word()}.{test}",
            f"{job.tool}: {title}" if job.tool else title,
            "sequential",
            reads,
            job.kind,
            METRICS_OF[job.kind],
            job.how,
            record=job.records.get(test),
            stop=stop,
            alone=test in job.alone,
            job=job,
        )


_FAMILIES: Final = (_judged, _patterns, _iometer, _sqlio, _hdparm, _dd, _applications)
WORKLOADS: Final = {
    **{workload.name: workload for family in _FAMILIES for workload in family()},
    **{workload.name: workload for job in FILE_JOBS for workload in _of_files(job)},
}
"""Every workload that this version can do, by name, in the order in which they are listed."""


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
"""Names of workloads in other tools, and their names here."""


def find_workloads(
    name: str, target: str, source: str, path: str = "", own: Mapping[str, NamedWorkload] | None = None
) -> tuple[NamedWorkload, ...]:
    """The workloads that a name, a short name ("random_read") or a family ("iops.*") stands for.

    `own` are the user's, which come first. `target` is the target as the user wrote it, `path` that of the name in
    `source`, for the message. Raises BrokenStudy for unknown names.
    """
    known = {**WORKLOADS, **(own or {})}
    family, dot, member = name.partition(".")
    on_files = {found.job.word() for found in WORKLOADS.values() if found.job is not None}
    kind = capabilities_of(target)
    if family in on_files and not kind.is_real and not kind.does(family):
        raise BrokenStudy(source, [Refusal(path, text=_needs_a_directory(name, target), code="needs-files")])
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
        *(word for word in WORKLOADS if word.partition(".")[0] in on_files and word.endswith(f".{name}")),
        closest(name, [*known, *short, *(f"{word}.*" for word in families)]),
    ]
    hint = f"; did you mean {close[0]}?" if close[0] else "."
    found = f"{name!r} is not a workload{hint} Known are {_listing(families)}"
    raise BrokenStudy(source, [Refusal(path, text=found, code="unknown-name")])


def _needs_a_directory(name: str, target: str) -> str:
    if not capabilities_of(target).simulated:
        return f"{name} is a file workload and {target} is no directory; give a directory, dir:PATH"
    return f"{name} is a file workload; {target} is a block device without a host; file workloads need a directory"


def _listing(families: Mapping[str, object]) -> str:
    return f"{', '.join(f'{family}.*' for family in families)}; see `mileage list workloads`"
